"""Checks the host of a URL and gives it its one normal form: UTS-46, IDNA, lower case, no trailing dot. Pure.

A host is either a public name of at least two labels or an address in its strict form. Anything that a resolver, a
browser or a library could read as an address in disguise is refused (WHATWG "ends in a number").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address

import idna

MAX_HOST_CHARS = 253
MAX_LABEL_CHARS = 63

#: Names of private networks, with everything below them: RFC 6761, 6762, 8375, ICANN's .internal, and those that the
#: root never delegates because home and company networks use them.
LOCAL_NAMES = frozenset(
    {"localhost", "local", "internal", "home.arpa", "localdomain", "lan", "intranet", "private", "corp", "home"}
)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*", re.ASCII)


class BadHost(ValueError):
    """Raised for a host that is refused; the message is the rule's name."""


def normal_name(written: str) -> str:
    """Return a name, or an IPv4 address, as it goes on the wire. Raises BadHost. Local names are not refused here."""
    if not written:
        raise BadHost("no host")
    if "%" in written:
        raise BadHost("percent sign in the host")
    if len(written) > MAX_HOST_CHARS + 1:
        raise BadHost("host too long")
    name = _encode(written)
    name = name.removesuffix(".")
    labels = name.split(".")
    if "" in labels:
        raise BadHost("empty label")
    if len(name) > MAX_HOST_CHARS:
        raise BadHost("host too long")
    if any(len(label) > MAX_LABEL_CHARS for label in labels):
        raise BadHost("label too long")
    if not all(_LABEL.fullmatch(label) for label in labels):
        raise BadHost("character in the host")
    if _NUMBER.fullmatch(labels[-1]) and ipv4(name) is None:
        raise BadHost("number as a host")
    return name


def normal_domain(written: str) -> str:
    """Return a domain in the form in which hosts are compared.

    It may be written as people do: "*.Example.org", ".example.org", "https://example.org/". Text that cannot be a host
    comes back bare and in lower case; it matches no host.
    """
    bare = _bare(written)
    try:
        return normal_name(bare)
    except BadHost:
        return bare.lower()


def normal_domains(written: Iterable[str]) -> tuple[str, ...]:
    """Return the domains in the form in which hosts are compared, each once, in order."""
    return tuple(dict.fromkeys(name for name in map(normal_domain, written) if name))


def own_domains(written: Iterable[str]) -> frozenset[str]:
    """Return the owner's domains in that form. Raises BadHost for one that no host can have."""
    return frozenset(normal_name(name.removeprefix("*.").removeprefix(".")) for name in written)


def is_domain(name: str) -> bool:
    """Tell whether a name is one of at least two labels, so that it holds nothing that a search engine obeys."""
    try:
        return "." in normal_name(name)
    except BadHost:
        return False


def refuse_local(name: str) -> None:
    """Refuse a name, given in its normal form, that is a local one or has a single label. Raises BadHost."""
    if is_within(name, LOCAL_NAMES):
        raise BadHost("local name")
    if "." not in name:
        raise BadHost("single-label name")


def ipv4(host: str) -> IPv4Address | None:
    """Return the address of a strict dotted quad, None for anything else."""
    try:
        return IPv4Address(host)
    except ValueError:
        return None


def ipv6(host: str) -> IPv6Address:
    """Return the address between brackets. Raises BadHost, also for a zone id, which has no place in a URL."""
    if "%" in host:
        raise BadHost("percent sign in the host")
    try:
        return IPv6Address(host)
    except ValueError:
        raise BadHost("broken IPv6 address") from None


def is_within(name: str, domains: Iterable[str]) -> bool:
    """Tell whether a name is one of the domains or below one; all in their normal form."""
    known = domains if isinstance(domains, frozenset) else frozenset(domains)
    labels = name.split(".")
    return bool(name) and any(".".join(labels[start:]) in known for start in range(len(labels)))


def _bare(written: str) -> str:
    """Return what a person wrote without scheme, path, port, wildcard and outer dots."""
    name = written.strip().partition("://")[2] or written.strip()
    name = re.split(r"[/?#]", name, maxsplit=1)[0]
    return re.sub(r":[0-9]*\Z", "", name).removeprefix("*").strip(".")


def _encode(written: str) -> str:
    """Return the name in ASCII.

    Raises BadHost for characters that two versions of the Unicode tables could read differently.
    """
    try:
        mapped = written.lower() if written.isascii() else idna.uts46_remap(written, std3_rules=False)
        if not mapped.isascii() and unicodedata.normalize("NFKC", mapped) != mapped:
            raise BadHost("character in the host")
        return ".".join(_label(label) for label in mapped.split("."))
    except UnicodeError:  # idna's errors are UnicodeErrors
        raise BadHost("character in the host") from None


def _label(label: str) -> str:
    if label.isascii() and not label.startswith("xn--"):
        return label
    return idna.alabel(label).decode("ascii")
