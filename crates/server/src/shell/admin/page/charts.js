// Line charts of the last hour, as SVG. The pointer and the arrow keys show the values of a time.
import { bytes, clock, count, decimal } from "./texts.js"

// Round numbers from 0 that include the maximum.
function ticksTo(maximum, isBinary) {
  const base = isBinary ? 1024 : 1000
  let scale = 1
  while (maximum / scale >= base) scale *= base
  const top = Math.max(maximum / scale, isBinary && scale === 1 ? 1 : Number.EPSILON)
  const magnitude = 10 ** Math.floor(Math.log10(top))
  const step = [0.25, 0.5, 1, 2, 2.5, 5].map((part) => part * magnitude).find((step) => top / step <= 4) ?? 10 * magnitude
  return Array.from({ length: Math.ceil(top / step) + 1 }, (_, index) => index * step * scale)
}

const svg = (tag, attributes, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  if (text !== undefined) made.textContent = text
  return made
}

const CHARTS = [
  {
    title: "Messages per second",
    series: [["received", "received_messages_per_s"], ["sent", "sent_messages_per_s"]],
    format: decimal,
  },
  {
    title: "Bytes per second",
    series: [["received", "received_bytes_per_s"], ["sent", "sent_bytes_per_s"]],
    format: bytes,
    isBinary: true,
  },
  {
    title: "Changes per second",
    series: [["changes", "changes_per_s"], ["commits", "commits_per_s"]],
    format: decimal,
  },
  {
    title: "Memory of documents",
    series: [["documents", "document_bytes"], ["unread messages", "queue_bytes"]],
    format: bytes,
    isBinary: true,
  },
  {
    title: "Connections and open documents",
    series: [["connections", "connections"], ["documents", "documents_open"]],
    format: count,
    isWhole: true,
  },
]

function makeChart(chart) {
  const keys = chart.series.map(([name], index) => html("span", `key series-${index + 1}`, name))
  const drawing = svg("svg", { role: "img", tabindex: "0" })
  const caption = html("figcaption")
  caption.append(html("b", "", chart.title), ...keys)
  const figure = html("figure")
  figure.append(caption, drawing)
  const made = { ...chart, figure, drawing, keys, samples: [], at: null }
  const point = (event) => {
    const box = drawing.getBoundingClientRect()
    made.at = made.timeAt?.(event.clientX - box.left) ?? null
    drawChart(made)
  }
  drawing.addEventListener("pointermove", point)
  drawing.addEventListener("pointerleave", () => { made.at = null; drawChart(made) })
  drawing.addEventListener("blur", () => { made.at = null; drawChart(made) })
  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    const { samples } = made
    if (!step || samples.length === 0) return
    event.preventDefault()
    const now = samples.findIndex(({ time }) => time === made.at)
    const next = now < 0 ? samples.length - 1 : Math.min(Math.max(now + step, 0), samples.length - 1)
    made.at = samples[next].time
    drawChart(made)
  })
  return made
}

function drawChart(chart) {
  const { drawing, series, keys, format, samples } = chart
  const width = drawing.clientWidth
  const height = drawing.clientHeight
  if (!width) return
  const [left, right, top, bottom] = [62, 10, 8, 22]
  const values = series.map(([, name]) => samples.map((sample) => sample[name]))
  const maximum = Math.max(...values.flat(), chart.isWhole ? 4 : 0.001)
  const ticks = ticksTo(maximum, chart.isBinary)
  const highest = ticks.at(-1)
  const last = samples.at(-1)?.time ?? Math.floor(Date.now() / 1000)
  const first = Math.min(samples[0]?.time ?? last, last - 60)
  const x = (time) => left + ((time - first) / (last - first)) * (width - left - right)
  const y = (value) => height - bottom - (value / highest) * (height - top - bottom)
  const parts = []
  for (const tick of ticks) {
    parts.push(svg("line", { class: tick === 0 ? "axis" : "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }))
    parts.push(svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, format(tick)))
  }
  const marks = Math.max(1, Math.min(4, Math.floor((width - left) / 110)))
  for (let index = 0; index <= marks; index += 1) {
    const time = first + ((last - first) * index) / marks
    const anchor = index === 0 ? "start" : index === marks ? "end" : "middle"
    parts.push(svg("text", { x: x(time), y: height - 6, "text-anchor": anchor }, clock(time)))
  }
  values.forEach((numbers, index) => {
    const points = numbers.map((value, at) => `${x(samples[at].time).toFixed(1)},${y(value).toFixed(1)}`)
    if (points.length === 1) points.push(points[0].replace(/^[^,]+/, x(samples[0].time) - 4))
    parts.push(svg("polyline", { class: `line series-${index + 1}`, points: points.join(" ") }))
  })
  chart.timeAt = (position) => {
    const time = first + ((position - left) / (width - left - right)) * (last - first)
    const distance = (sample) => Math.abs(sample.time - time)
    const nearest = samples.reduce((best, sample) => (best && distance(best) <= distance(sample) ? best : sample), null)
    return nearest?.time ?? null
  }
  const shown = samples.find(({ time }) => time === chart.at) ?? samples.at(-1)
  if (chart.at !== null && shown) {
    const cx = x(shown.time)
    parts.push(svg("line", { class: "cursor", x1: cx, x2: cx, y1: top, y2: height - bottom }))
    series.forEach(([, name], index) => {
      parts.push(svg("circle", { class: `dot series-${index + 1}`, cx, cy: y(shown[name]), r: 4 }))
    })
  }
  series.forEach(([name, field], index) => {
    const at = chart.at === null || !shown ? "" : ` at ${clock(shown.time)}`
    keys[index].textContent = shown ? `${name} ${format(shown[field])}${at}` : name
  })
  drawing.setAttribute("viewBox", `0 0 ${width} ${height}`)
  const shownTexts = keys.map(({ textContent }) => textContent).join(", ")
  const highestText = format(Math.max(...values.flat(), 0))
  drawing.setAttribute("aria-label", `${chart.title}: ${shownTexts}. Highest ${highestText}.`)
  drawing.dataset.samples = samples.length
  drawing.replaceChildren(...parts)
}

function html(tag, className = "", text = "") {
  const made = document.createElement(tag)
  made.className = className
  made.textContent = text
  return made
}

let charts = []

// Draws all charts into an element.
export function drawCharts(target, samples) {
  if (charts.length === 0) {
    charts = CHARTS.map(makeChart)
    target.replaceChildren(...charts.map(({ figure }) => figure))
  }
  for (const chart of charts) {
    chart.samples = samples
    drawChart(chart)
  }
}
