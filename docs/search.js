// Order of search results: pages of the guide before pages of single tasks, the changelog last.
var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    if (page === "CHANGELOG" || page === "CONTRIBUTING") return score - 4;
    return page.startsWith("docs/") ? score + 2 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
