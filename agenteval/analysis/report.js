// Zoom of the inline picture: no library, no request.
const box = document.querySelector(".graph");
const svg = box && box.querySelector("svg");
if (svg) {
  const [width, height] = svg.getAttribute("viewBox").split(/[ ,]+/).slice(2).map(Number);
  let scale = 1;
  const show = () => {
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
  };
  // What stands in the middle of the box stays there.
  const set = (next) => {
    const x = (box.scrollLeft + box.clientWidth / 2) / scale, y = (box.scrollTop + box.clientHeight / 2) / scale;
    scale = next;
    show();
    box.scrollTo(x * scale - box.clientWidth / 2, y * scale - box.clientHeight / 2);
  };
  document.querySelector("#larger").addEventListener("click", () => set(scale * 1.25));
  document.querySelector("#smaller").addEventListener("click", () => set(scale / 1.25));
  document.querySelector("#whole").addEventListener("click", () => {
    const most = parseFloat(getComputedStyle(box).maxHeight) - 2;
    set(Math.min(box.clientWidth / width, most / height));
  });
  // Below 1 the actions on the edges cannot be read.
  scale = Math.min(1.3, Math.max(1, box.clientWidth / width));
  show();
}
