// The read-out of the charts: the values of every line nearest to the pointer. The page works without it.
for (const frame of document.querySelectorAll(".frame")) {
  const chart = JSON.parse(frame.dataset.chart);
  const rule = Object.assign(document.createElement("i"), { className: "rule" });
  const box = Object.assign(document.createElement("output"), { className: "readout" });
  frame.append(rule, box);

  const nearest = (points, x) =>
    points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));

  frame.addEventListener("pointermove", (event) => {
    const area = frame.getBoundingClientRect();
    const place = Math.min(1, Math.max(0, (event.clientX - area.left) / area.width));
    const picked = chart.lines.map((line) => [line.name, nearest(line.points, place * chart.high)]);
    const at = picked[0][1][0] / chart.high;
    rule.style.left = `${100 * at}%`;
    box.style.left = `${100 * at}%`;
    box.classList.toggle("left", at > 0.5);
    const values = picked.map(([name, point]) => `${name} ${point[2]}`);
    box.textContent = [`${chart.x} ${picked[0][1][1]}`, ...values].join("\n");
    frame.classList.add("active");
  });
  frame.addEventListener("pointerleave", () => frame.classList.remove("active"));
}
