/* Mark tables, figures and code that can be scrolled to the right; site.css fades their edge. */
addEventListener("load", () => {
  const boxes = ".pst-scrollable-table-container, .bd-article .wide, .bd-article pre";
  for (const box of document.querySelectorAll(boxes)) {
    const mark = () => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
    box.addEventListener("scroll", mark);
    new ResizeObserver(mark).observe(box);
  }
});
