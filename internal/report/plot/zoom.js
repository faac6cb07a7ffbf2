// Drag over a plot to zoom into the rectangle, double-click to see all of it.
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const axis = (text, unit) => {
    const [min, max, from, to, log] = text.split(" ");
    return { min: +min, max: +max, from: +from, to: +to, log: log === "true", unit };
  };
  const lin = (a, v) => (a.log ? Math.log(v) : v);
  const value = (a, px) => {
    const v = lin(a, a.min) + (px - a.from) / (a.to - a.from) * (lin(a, a.max) - lin(a, a.min));
    return a.log ? Math.exp(v) : v;
  };
  const pixel = (a, v) => a.from + (lin(a, v) - lin(a, a.min)) / (lin(a, a.max) - lin(a, a.min)) * (a.to - a.from);
  const ticks = (lo, hi) => {
    const raw = (hi - lo) / 6, base = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(m => m * base).find(s => s >= raw * 0.9999);
    const out = [];
    for (let i = Math.ceil(lo / step); i * step <= hi; i++) out.push(i * step);
    return out;
  };
  const label = v => Number(v.toPrecision(7)).toLocaleString("en", { maximumSignificantDigits: 7 });
  const add = (parent, name, attrs, text) => {
    const e = document.createElementNS(NS, name);
    for (const k in attrs) e.setAttribute(k, attrs[k]);
    if (text !== undefined) e.textContent = text;
    parent.append(e);
  };

  for (const svg of document.querySelectorAll("svg.plot[data-zoom]")) {
    const fullX = axis(svg.dataset.x, svg.dataset.xu), fullY = axis(svg.dataset.y, svg.dataset.yu);
    const second = +svg.dataset.y2;
    const data = svg.querySelector("g.data"), gx = svg.querySelector("g.xa"), gy = svg.querySelector("g.ya");
    const keepX = gx.innerHTML, keepY = gy.innerHTML, units = svg.querySelectorAll("text.unit");
    const keepUnits = [...units].map(u => u.textContent);
    let x = { ...fullX }, y = { ...fullY }, start = null, band = null;

    const draw = () => {
      const whole = x.min === fullX.min && x.max === fullX.max && y.min === fullY.min && y.max === fullY.max;
      if (whole) {
        data.removeAttribute("transform"); gx.innerHTML = keepX; gy.innerHTML = keepY;
        units.forEach((u, i) => { u.textContent = keepUnits[i]; });
        return;
      }
      const scale = (a, full) => {
        const p = pixel(full, a.min), q = pixel(full, a.max), k = (a.to - a.from) / (q - p);
        return [k, a.from - k * p];
      };
      const [kx, tx] = scale(x, fullX), [ky, ty] = scale(y, fullY);
      data.setAttribute("transform", `matrix(${kx} 0 0 ${ky} ${tx} ${ty})`);
      gx.replaceChildren(); gy.replaceChildren();
      const div = a => {
        const m = Math.max(Math.abs(a.min), Math.abs(a.max));
        if (a.unit === "s") return m < 1e-6 ? [1e-9, "ns"] : m < 1e-3 ? [1e-6, "µs"] : m < 1 ? [1e-3, "ms"] : [1, "s"];
        return m >= 2e9 ? [1e9, "G" + a.unit] : m >= 2e6 ? [1e6, "M" + a.unit] : m >= 1e4 ? [1e3, "k" + a.unit] : [1, a.unit];
      };
      const [dx, ux] = div(x), [dy, uy] = div(y);
      for (const t of ticks(x.min, x.max)) {
        add(gx, "path", { class: "tick", d: `M${pixel(x, t)} ${y.from}v4` });
        add(gx, "text", { class: "mid", x: pixel(x, t), y: y.from + 16 }, label(t / dx));
      }
      for (const t of ticks(y.min, y.max)) {
        add(gy, "path", { class: "grid", d: `M${x.from} ${pixel(y, t)}H${x.to}` });
        add(gy, "text", { class: "end", x: x.from - 6, y: pixel(y, t) + 4 }, label(t / dy));
        if (second) add(gy, "text", { x: x.to + 6, y: pixel(y, t) + 4 }, label(t * second / dy));
      }
      const rename = (i, a, unit) => {
        if (a.unit && a.unit !== "1") units[i].textContent = keepUnits[i].replace(/(, )?[^,]*$/, (m, comma) => (comma || "") + unit);
      };
      rename(0, y, uy);
      if (second) units[1].textContent = uy.slice(0, -y.unit.length) + keepUnits[1].replace(/^[kMGTP]/, "");
      rename(units.length - 1, x, ux);
    };

    const at = e => {
      const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return [Math.min(Math.max(p.x, x.from), x.to), Math.min(Math.max(p.y, y.to), y.from)];
    };
    const rect = (a, b) => {
      const flat = Math.abs(a[1] - b[1]) < 12; // a drag along x alone keeps y
      return { l: Math.min(a[0], b[0]), r: Math.max(a[0], b[0]), t: flat ? y.to : Math.min(a[1], b[1]), b: flat ? y.from : Math.max(a[1], b[1]) };
    };
    svg.addEventListener("pointerdown", e => {
      if (e.button !== 0) return;
      start = at(e); svg.setPointerCapture(e.pointerId);
      band = document.createElementNS(NS, "rect"); band.setAttribute("class", "band"); svg.append(band);
    });
    svg.addEventListener("pointermove", e => {
      if (!start) return;
      const r = rect(start, at(e));
      for (const [k, v] of [["x", r.l], ["y", r.t], ["width", r.r - r.l], ["height", r.b - r.t]]) band.setAttribute(k, v);
    });
    const stop = () => { start = null; if (band) band.remove(); band = null; };
    svg.addEventListener("pointercancel", stop);
    svg.addEventListener("pointerup", e => {
      if (!start) return;
      const r = rect(start, at(e)); stop();
      if (r.r - r.l < 6) return;
      const nx = [value(x, r.l), value(x, r.r)], ny = [value(y, r.b), value(y, r.t)];
      [x.min, x.max] = nx; [y.min, y.max] = ny;
      draw();
    });
    svg.addEventListener("dblclick", () => { x = { ...fullX }; y = { ...fullY }; draw(); });
  }
})();
