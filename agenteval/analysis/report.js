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
  const set = (next) => { box.classList.remove("fit"); scale = next; show(); };
  document.querySelector("#larger").addEventListener("click", () => set(scale * 1.25));
  document.querySelector("#smaller").addEventListener("click", () => set(scale / 1.25));
  document.querySelector("#whole").addEventListener("click", () => set(Math.min(box.clientWidth / width, box.clientHeight / height)));
  set(Math.min(1.3, Math.max(0.6, box.clientWidth / width)));
}
