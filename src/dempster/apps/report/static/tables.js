// Sort, search and expand tables.
(() => {
  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const beyond = [...body.rows].findIndex((row) => row.classList.contains("beyond"));
    const more = document.querySelector(`[data-more="${table.id}"]`);
    const search = document.querySelector(`[data-table="${table.id}"]`);
    const found = document.getElementById(`${table.id}-found`);
    let isOpen = false;

    const mark = () => [...body.rows].forEach((row, i) => row.classList.toggle("beyond", beyond >= 0 && i >= beyond));

    for (const head of table.tHead.rows[0].cells) {
      if (head.dataset.sort === undefined) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        // The first click sorts numbers in descending order, and names in ascending order.
        const first = head.classList.contains("number") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = head.getAttribute("aria-sort") === first ? other : first;
        for (const one of table.tHead.rows[0].cells) one.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const rows = [...body.rows].sort((a, b) => sign * compare(key(a, head.cellIndex), key(b, head.cellIndex)));
        body.append(...rows);
        mark();
      });
    }

    more?.addEventListener("click", () => {
      isOpen = !isOpen;
      table.classList.toggle("all", isOpen);
      more.textContent = isOpen ? "Show fewer" : `Show all ${Number(more.dataset.number).toLocaleString("en")}`;
    });

    search?.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let n = 0;
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        n += row.hidden ? 0 : 1;
      }
      table.classList.toggle("all", isOpen || words.length > 0);
      found.textContent = words.length ? `${n.toLocaleString("en")} of ${body.rows.length.toLocaleString("en")} rows` : "";
    });
  }
})();
