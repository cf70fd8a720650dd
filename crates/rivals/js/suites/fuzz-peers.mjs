// Modules of automerge-repo that its fuzz program imports, for peers with a server between them.
import { pathToFileURL } from "node:url"
import { packages } from "../peers/generation.mjs"

const { Repo: PlainRepo } = await import(pathToFileURL(packages.repo))
const { WebSocketClientAdapter } = await import(pathToFileURL(packages.sockets))
const repos = []
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export class MessageChannelNetworkAdapter extends WebSocketClientAdapter {
  constructor(port) {
    super(port.url, 100)
  }
}

export class Repo extends PlainRepo {
  made = []

  constructor(config) {
    super(config)
    this.mayShare = config.sharePolicy ?? (async () => true)
    repos.push(this)
  }

  // The program also edits what a peer has asked for in vain, and then fails without a server, too.
  get handles() {
    return Object.fromEntries(Object.entries(super.handles).filter(([, handle]) => handle.heads().length > 0))
  }

  create(...args) {
    const handle = super.create(...args)
    this.made.push(handle)
    return handle
  }
}

async function find(repo, url) {
  for (;;) {
    try {
      return await repo.find(url)
    } catch {
      await wait(20)
    }
  }
}

// Peers announce documents to each other, and the program pauses meanwhile. A server announces nothing: peers ask it.
export async function pause() {
  for (const maker of repos) {
    for (const { url, documentId } of maker.made) {
      for (const repo of repos) {
        if (repo !== maker && (await maker.mayShare(repo.peerId, documentId))) await find(repo, url)
      }
    }
  }
}
