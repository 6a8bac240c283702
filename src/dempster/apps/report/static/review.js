// Check marks and notes on the doubtful objects. The browser keeps them, and the button saves them as a CSV file.
(() => {
  const tools = document.getElementById("review");
  if (!tools) return;
  const key = `dempster-review-${tools.dataset.key}`;
  const status = document.getElementById("checked");
  const entries = [...document.querySelectorAll("[data-check]")].map((box) => ({
    box, note: box.closest(".checked").querySelector("input[type=text]"), row: JSON.parse(box.dataset.check),
  }));
  const load = () => { try { return JSON.parse(localStorage.getItem(key)) ?? []; } catch { return []; } };
  const store = (content) => { try { localStorage.setItem(key, JSON.stringify(content)); } catch { /* not available for local files */ } };

  const update = () => {
    const n = entries.filter(({ box }) => box.checked).length;
    status.textContent = `${n.toLocaleString("en")} of ${entries.length.toLocaleString("en")} checked`;
    store(entries.map(({ box, note }) => [box.checked, note.value]));
  };
  load().forEach(([isChecked, text], k) => {
    if (k >= entries.length) return;
    entries[k].box.checked = isChecked;
    entries[k].note.value = text;
  });
  for (const { box, note } of entries) for (const element of [box, note]) element.addEventListener("input", update);
  update();

  // Spreadsheets evaluate cells that begin with one of these characters.
  const encode = (value) => {
    const text = /^'*[=+\-@\t\r]/.test(value) && typeof value === "string" ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  document.getElementById("save-review").addEventListener("click", () => {
    const rows = entries.map(({ box, note, row }) => [...Object.values(row), box.checked ? "yes" : "", note.value]);
    const head = [...Object.keys(entries[0].row), "checked", "note"];
    const text = [head, ...rows].map((cells) => `${cells.map(encode).join(",")}\r\n`).join("");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
    link.download = "review.csv";
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
})();
