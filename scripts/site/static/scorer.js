/* How Sphinx's search weighs a page, with its own figures; decisions come after the pages that people use. */

const DECISION = -100;

var Scorer = {
  score: ([docname, , , , score]) => score + (docname.startsWith("decisions/") ? DECISION : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
