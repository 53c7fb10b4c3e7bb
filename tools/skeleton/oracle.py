"""Replace this by the formula again, from its source (author, title, year, equation) and not from reference/."""

@oracle@
