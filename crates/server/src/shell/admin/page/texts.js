// Texts of numbers, sizes and times for the dashboard.

const HOUR_S = 3600

const whole = new Intl.NumberFormat("en")
export const count = (number) => (number === null || number === undefined ? "" : whole.format(number))

export function bytes(number) {
  if (number === null || number === undefined) return ""
  const units = ["B", "KiB", "MiB", "GiB", "TiB"]
  let unit = 0
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024
    unit += 1
  }
  return `${unit === 0 || number >= 100 ? Math.round(number) : number.toFixed(1)} ${units[unit]}`
}

export function span(seconds) {
  if (seconds === null || seconds === undefined) return ""
  if (seconds < 60) return `${Math.floor(seconds)} s`
  if (seconds < HOUR_S) return `${Math.floor(seconds / 60)} min`
  if (seconds < 48 * HOUR_S) return `${Math.floor(seconds / HOUR_S)} h ${Math.floor((seconds % HOUR_S) / 60)} min`
  return `${Math.floor(seconds / 86400)} days`
}

export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`
export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB")
export function date(seconds) {
  if (!seconds) return ""
  const time = new Date(seconds * 1000)
  return Number.isNaN(time.getTime()) ? String(seconds) : `${time.toLocaleDateString("sv")} ${time.toLocaleTimeString("en-GB")}`
}

export const decimal = (value) => {
  if (value >= 100 || Number.isInteger(value)) return count(Math.round(value))
  return String(Number(value.toFixed(2)))
}
