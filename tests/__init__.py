"""A package, because one of Evennia's dependencies installs another of this name, which would be found instead."""
