// Filters for the tables with many rows: words that a row must have, and the values of some columns.
for (const part of document.querySelectorAll(".filtered")) {
  const rows = [...part.querySelectorAll("tbody tr")];
  const more = part.querySelector("details");
  const bar = document.createElement("p");
  bar.className = "filter";
  const title = part.querySelector("caption").textContent;
  const add = (kind, name) => {
    const control = bar.appendChild(document.createElement(kind));
    control.setAttribute("aria-label", `${name}: ${title}`);
    control.addEventListener("input", apply);
    return control;
  };
  const words = add("input", "Filter");
  words.type = "search";
  words.placeholder = "Filter";
  const choices = [...part.querySelector("thead").querySelectorAll(".choice")].map((head) => {
    const choice = add("select", head.textContent);
    choice.add(new Option(`${head.textContent}: all`, ""));
    const values = new Set(rows.map((row) => row.cells[head.cellIndex].textContent));
    [...values].sort().forEach((value) => choice.add(new Option(value)));
    return (row) => !choice.value || row.cells[head.cellIndex].textContent === choice.value;
  });
  const found = bar.appendChild(document.createElement("output"));
  part.prepend(bar);

  function apply() {
    const wanted = words.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word)) || !choices.every((fits) => fits(row));
    }
    const left = rows.filter((row) => !row.hidden).length;
    found.value = left < rows.length ? `${left} of ${rows.length}` : "";
    if (more && left < rows.length) more.open = true;
  }
}
