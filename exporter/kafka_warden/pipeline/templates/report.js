// Each table gets a filter (words that a row has, and values of columns with few), and sorts by a click on a title.
for (const table of document.querySelectorAll("table.listed")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], rows = [...body.rows];
  if (rows.length < 2) continue;
  const text = (row, place) => row.cells[place].textContent;
  const name = table.parentElement.getAttribute("aria-label").replace("Table: ", "");

  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const number = head.className === "number";
      // Numbers begin with the greatest, names with the first; unknown values are the last.
      const down = head.ariaSort ? head.ariaSort === "ascending" : number;
      heads.forEach(each => { each.ariaSort = null; });
      head.ariaSort = down ? "descending" : "ascending";
      const key = row => number ? Number(row.cells[place].dataset.value?.replace("inf", "Infinity")) : text(row, place);
      const keys = new Map(rows.map(row => [row, key(row)]));
      const unknown = row => Number.isNaN(keys.get(row));
      const order = (one, other) => number ? (one > other) - (one < other) : one.localeCompare(other);
      rows.sort((one, other) => unknown(one) - unknown(other) || (down ? -1 : 1) * order(keys.get(one), keys.get(other)));
      body.append(...rows);
    };
  });

  if (rows.length < 5) continue;
  const bar = document.createElement("p");
  bar.className = "filter";
  const add = (kind, label) => {
    const control = bar.appendChild(document.createElement(kind));
    control.setAttribute("aria-label", `${label}: ${name}`);
    control.addEventListener("input", apply);
    return control;
  };
  const words = add("input", "Filter");
  words.type = "search";
  words.placeholder = "Filter";
  const choices = heads.flatMap((head, place) => {
    const values = new Set(rows.map(row => text(row, place)));
    if (head.className === "number" || values.size < 2 || values.size > 12 || values.size > rows.length / 2) return [];
    const choice = add("select", head.textContent);
    choice.add(new Option(`${head.textContent}: all`, ""));
    [...values].sort().forEach(each => choice.add(new Option(each)));
    return [row => !choice.value || text(row, place) === choice.value];
  });
  const found = bar.appendChild(document.createElement("output"));
  table.parentElement.before(bar);

  function apply() {
    const wanted = words.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const whole = row.textContent.toLowerCase();
      row.hidden = !wanted.every(word => whole.includes(word)) || !choices.every(fits => fits(row));
    }
    const left = rows.filter(row => !row.hidden).length;
    found.value = left < rows.length ? `${left} of ${rows.length}` : "";
  }
}
