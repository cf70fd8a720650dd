// Code of a worker. The first message has the module, the second the work; an error is sent as the answer.
import { Engine } from "../engine.js"
import { compute } from "./passwords.js"
import { tiles } from "./tiles.js"

let tile
let engine

// One after the other; but a tile is read while another one is hashed.
let turn = Promise.resolve()

onmessage = ({ data }) => {
  if (data.module) {
    turn = WebAssembly.instantiate(data.module, {}).then((instance) => { engine = new Engine(instance) })
  } else if (data.password) {
    turn = turn.then(() => compute(engine, data)).then((result) => postMessage({ result }))
  } else if (data.blob) {
    turn = turn.then(() => {
      tile = tiles(engine, data)
      postMessage({ ready: true })
    })
  } else {
    const bytes = tile.read(data.index)
    bytes.catch(() => {})
    turn = turn.then(async () => postMessage({ index: data.index, value: tile.hash(data.index, await bytes) }))
  }
  turn.catch((error) => postMessage({ error }))
}
