'use strict';
// BLAKE3: the names of the package `blake3`, and ours for what takes time.

const { stat } = require('node:fs/promises');
const { Transform } = require('node:stream');
const { fileURLToPath } = require('node:url');
const { bytesOf, isShared, lengthOf, listOf, numberOf, secretOf, viewOf, wipe } = require('./arguments.cjs');
const { native, abortable, errorOf, settled } = require('./native.cjs');

const defaultHashLength = 32;
const maxHashBytes = 2n ** 64n - 1n;
const NONE = new Uint8Array();
const MAX_U32 = 2 ** 32 - 1;

/** Up to so many bytes are held back before a hasher is made in the library, which takes longer than to hash them. */
const HELD = 4 * 1024;
/** Bytes of an array that what is held back is written to, message behind message. Callers never see it. */
const SLAB = 16 * 1024;
/** Up to so many bytes are hashed at once: another thread would have begun later than this one ends. */
const AT_ONCE = 128 * 1024;
/** More than this is copied and hashed in pieces, so that Node goes on in between. */
const PIECE = 2 * 1024 * 1024;
/** Buffers of a list that go to another thread together, and bytes of them. */
const GROUP = 16 * 1024;
const GROUP_BYTES = 8 * 1024 * 1024;
/** Milliseconds between two reports on a file. */
const REPORT = 50;

/** A digest is small, and Node has room for such; a key gets memory that no other buffer shares. */
const room = (length, isKey = false) => (isKey ? Buffer.alloc : Buffer.allocUnsafe)(lengthOf(length));

function hash(input, { length = defaultHashLength } = {}) {
  const out = room(length);
  native.hash(bytesOf(input), out);
  return out;
}

function keyedHash(key, input, { length = defaultHashLength } = {}) {
  const out = room(length);
  native.keyedHash(keyOf(key), bytesOf(input), out);
  return out;
}

function deriveKey(context, material, { length = defaultHashLength } = {}) {
  const out = room(length, true);
  native.deriveKey(bytesOf(context), secretOf(material), out);
  return out;
}

function keyOf(key) {
  const bytes = secretOf(key);
  if (bytes.length !== 32) throw new TypeError(`a key of ${bytes.length} bytes: 32 are needed`);
  return bytes;
}

let slab = new Uint8Array(SLAB);
let used = 0;

/** Room for so many bytes that are held back. */
function held(length) {
  if (length > SLAB - used) [slab, used] = [new Uint8Array(SLAB), 0];
  used += length;
  return slab.subarray(used - length, used);
}

/** The output of a hash, from any position on. */
class HashReader {
  #native;

  constructor(reader) {
    this.#native = reader;
  }

  get position() {
    return this.#native.position;
  }

  set position(value) {
    if (typeof value !== 'bigint') throw new TypeError('position: a bigint is needed');
    if (value < 0n || value > maxHashBytes) {
      throw new RangeError(`position ${value}: one from 0 to ${maxHashBytes} is needed`);
    }
    this.#native.seek(value);
  }

  /** So many bytes, or as many as there are left. */
  #left(bytes) {
    const left = maxHashBytes - this.#native.position;
    return left < BigInt(bytes) ? Number(left) : bytes;
  }

  readInto(target) {
    if (!(target instanceof Uint8Array)) throw new TypeError('target: a Uint8Array is needed');
    if (isShared(target)) {
      const part = this.read(target.length);
      target.set(part);
      return part.length;
    }
    const length = this.#left(target.length);
    this.#native.fill(target.subarray(0, length));
    return length;
  }

  read(bytes) {
    const out = Buffer.allocUnsafe(this.#left(lengthOf(bytes)));
    this.#native.fill(out);
    return out;
  }

  view(bytes) {
    return this.read(bytes);
  }

  *[Symbol.iterator]() {
    for (;;) {
      const part = this.read(1024);
      if (part.length === 0) return;
      yield part;
    }
  }
}

/** A hash in progress; also a stream that takes bytes and gives the digest. */
class NodeHash extends Transform {
  /** There from the start with a key or a context, else from when more has come than is held back. */
  #native;
  #isKeyed;
  /** Whether what it takes, and what it gives, are secrets. */
  #isKey;
  #held = NONE;
  #length = 0;
  /** Room for a copy of a piece of a stream, and the copy, until it is hashed. */
  #room = NONE;
  #waiting = NONE;
  /** What went wrong with a piece of a stream: without it there is no digest. */
  #failure;

  constructor(hasher, isKey = false) {
    super();
    this.#native = hasher;
    this.#isKeyed = hasher !== undefined;
    this.#isKey = isKey;
  }

  update(data, encoding) {
    const isEncoded = typeof data === 'string' && encoding;
    if (this.#isKey) {
      const bytes = isEncoded ? Buffer.from(data, encoding) : secretOf(data);
      try {
        this.#take();
        this.#native.update(bytes);
      } finally {
        wipe([bytes], [data]);
      }
      return this;
    }
    const bytes = isEncoded ? Buffer.from(data, encoding) : viewOf(data);
    this.#take();
    const length = this.#length + bytes.length;
    if (this.#native === undefined && length <= HELD) {
      if (length > this.#held.length) {
        // Most messages come in one piece.
        const room = held(this.#length === 0 ? length : HELD);
        room.set(this.#held);
        this.#held = room;
      }
      this.#held.set(bytes, this.#length);
      this.#length = length;
    } else {
      this.#made().update(bytesOf(bytes));
    }
    return this;
  }

  /** Copies a piece, which is hashed when its source has asked for the next: files are read meanwhile. */
  #later(piece) {
    this.#take();
    if (piece.length > this.#room.length) this.#room = new Uint8Array(piece.length);
    this.#room.set(piece);
    this.#waiting = this.#room.subarray(0, piece.length);
    // Node asks in a tick, and microtasks come after all of those.
    queueMicrotask(() => {
      try {
        this.#take();
      } catch (error) {
        this.destroy(error);
      }
    });
  }

  /** Hashes the piece that waits, before anything else is done. */
  #take() {
    if (this.#failure) throw this.#failure.error;
    if (this.#waiting.length === 0) return;
    const piece = this.#waiting;
    this.#waiting = NONE;
    try {
      this.#made().update(piece);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  #message() {
    return this.#held.subarray(0, this.#length);
  }

  #made() {
    if (this.#native === undefined) {
      const hasher = new native.Hasher();
      hasher.update(this.#message());
      [this.#native, this.#held] = [hasher, NONE];
    }
    return this.#native;
  }

  digest(encoding, options) {
    const isOptions = typeof encoding === 'object' && encoding !== null;
    const { length = defaultHashLength } = (isOptions ? encoding : options) ?? {};
    const out = room(length, this.#isKey);
    this.#take();
    if (this.#native === undefined) native.hash(this.#message(), out);
    else this.#native.digest(out);
    return isOptions || encoding === undefined ? out : out.toString(encoding);
  }

  reader() {
    this.#take();
    return new HashReader(this.#made().reader());
  }

  /** There for the names' sake: memory goes with the object. */
  dispose() {}

  _transform(chunk, encoding, callback) {
    let error = null;
    try {
      // What keys are made of is not copied.
      if (!this.#isKeyed && chunk instanceof Uint8Array && chunk.length > HELD && chunk.length <= AT_ONCE) this.#later(chunk);
      else this.update(chunk, encoding);
    } catch (caught) {
      this.#failure = { error: caught };
      error = caught;
    }
    callback(error);
  }

  _flush(callback) {
    callback(null, this.digest());
  }
}

const createHash = () => new NodeHash();
const createKeyed = (key) => new NodeHash(new native.Hasher(keyOf(key)));
const createDeriveKey = (context) => new NodeHash(new native.Hasher(undefined, bytesOf(context)), true);

/** What the functions below have in common. */
function meant({ length = defaultHashLength, key, context, signal, onProgress, threads = 0 } = {}) {
  if (key !== undefined && context !== undefined) throw new TypeError('key and context exclude one another');
  if (context !== undefined && typeof context !== 'string') throw new TypeError('context: a string is needed');
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw new TypeError('onProgress: a function is needed');
  }
  return {
    length: lengthOf(length),
    key: key === undefined ? undefined : keyOf(key),
    context,
    signal,
    onProgress,
    threads: numberOf('threads', threads, MAX_U32),
  };
}

/** Whoever waits may find a buffer that was given away, or resized. */
function unchanged(bytes, length) {
  if (bytes.length === length) return bytes;
  throw new TypeError(`the buffer went from ${length} to ${bytes.length} bytes while it was hashed`);
}

/** Bytes in pieces, as many as there are now. Whoever takes one waits before the next. */
function* pieces(bytes, length = bytes.length) {
  for (let start = 0; start < length; start += PIECE) {
    yield unchanged(bytes, length).subarray(start, start + PIECE);
  }
}

/** Tells a source that no more is wanted. What it says to that decides nothing, and nobody waits for it. */
function quietly(close) {
  try {
    Promise.resolve(close()).catch(() => {});
  } catch {
    // It is closed one way or another.
  }
}

/** The hash of what an iterator gives: large pieces on another thread, one of them while the next is fetched. */
async function consume(iterator, total, stop, { length, key, context, onProgress }) {
  const hasher = new native.Hasher(key, context === undefined ? undefined : bytesOf(context));
  let done = 0;
  let ahead;
  try {
    for (;;) {
      // Nothing comes between a piece and its copy, unless the source itself takes a turn.
      const step = iterator.next();
      const next = typeof step?.then === 'function' ? await step : step;
      if (next.done) break;
      for (const part of pieces(viewOf(next.value))) {
        const piece = bytesOf(part);
        done += piece.length;
        if (ahead === undefined && piece.length <= AT_ONCE) {
          hasher.update(piece);
        } else {
          const later = hasher.updateLater(piece, stop);
          settled(await ahead);
          ahead = later;
          // Small ones that follow are hashed at once again.
          if (piece.length <= AT_ONCE) ahead = settled(await later) ?? undefined;
        }
        onProgress?.(done, total);
      }
    }
    settled(await ahead);
  } catch (error) {
    stop.set();
    quietly(() => iterator.return?.());
    throw error;
  }
  const out = room(length, context !== undefined);
  hasher.digest(out);
  return out;
}

async function hashAsync(input, options) {
  const bytes = viewOf(input);
  if (options === undefined && bytes.length <= AT_ONCE) return hash(bytes);
  const asked = meant(options);
  const stop = new native.Stop();
  return abortable(asked.signal, stop, () => consume(pieces(bytes), bytes.length, stop, asked));
}

function iteratorOf(source) {
  if (source instanceof ReadableStream) {
    // Its own iterator hears of an end only after the read that is under way.
    const reader = source.getReader();
    return { next: () => reader.read(), return: () => reader.cancel() };
  }
  const iterator = source?.[Symbol.asyncIterator]?.() ?? source?.[Symbol.iterator]?.();
  if (iterator === undefined || typeof source === 'string' || ArrayBuffer.isView(source)) {
    throw new TypeError('source: a stream, or something else that gives bytes piece by piece, is needed');
  }
  return iterator;
}

async function hashStream(source, options) {
  const asked = meant(options);
  const work = new native.Stop();
  let iterator;
  const stop = {
    set() {
      work.set();
      // A stream that gives nothing would never come to the end of its iterator.
      quietly(() => (typeof source.destroy === 'function' ? source.destroy() : iterator.return?.()));
    },
  };
  return abortable(asked.signal, stop, async () => {
    iterator = iteratorOf(source);
    return consume(iterator, undefined, work, asked);
  });
}

function pathOf(path) {
  if (path instanceof URL) return fileURLToPath(path);
  if (typeof path === 'string') return path;
  throw new TypeError('path: a string or a URL is needed');
}

/** The answers for files, while `report` hears now and then how many bytes were hashed. */
async function answers(paths, asked, report) {
  const { key, context, length, threads, signal } = asked;
  const job = new native.FilesJob(key, context, numberOf('length', length, MAX_U32), threads);
  return abortable(signal, job, async () => {
    let last = 0;
    let thrown;
    const tell = (bytes) => {
      if (bytes > last) report((last = bytes));
    };
    const look = () => {
      try {
        tell(job.bytes ?? 0);
      } catch (error) {
        thrown ??= { error };
        job.set();
      }
    };
    const timer = report && setInterval(look, REPORT);
    try {
      const answer = await job.run(paths);
      if (thrown) throw thrown.error;
      const found = settled(answer);
      if (report) tell(found.bytes);
      return found;
    } finally {
      clearInterval(timer);
    }
  });
}

async function hashFile(path, options) {
  const asked = meant(options);
  const name = pathOf(path);
  const { onProgress } = asked;
  const total = onProgress && (await stat(name).catch(() => undefined))?.size;
  const found = await answers([name], asked, onProgress && ((done) => onProgress(done, total)));
  if (found.failures.length > 0) throw errorOf(found.failures[0].failure, name);
  return found.digests;
}

async function hashFiles(paths, options) {
  const asked = meant(options);
  const names = listOf('paths', paths).map(pathOf);
  const { length, onProgress } = asked;
  const found = await answers(names, asked, onProgress && ((done) => onProgress(done, undefined)));
  const failures = new Map(found.failures.map(({ index, failure }) => [index, failure]));
  return names.map((name, index) => {
    const failure = failures.get(index);
    if (failure) return { status: 'rejected', reason: errorOf(failure, name) };
    return { status: 'fulfilled', value: found.digests.subarray(index * length, (index + 1) * length) };
  });
}

async function hashMany(list, options) {
  const asked = meant(options);
  if (asked.length !== defaultHashLength) throw new RangeError('length: digests of lists have 32 bytes');
  const stop = new native.Stop();
  // As they are now: those behind have their turn later. Strings, which nobody changes, have no such length.
  const messages = listOf('list', list);
  const lengths = messages.map((message) => message?.byteLength);
  return abortable(asked.signal, stop, async () => {
    const digests = [];
    let group = [];
    let size = 0;
    const flush = async () => {
      if (group.length === 0) return;
      const found = settled(await native.hashMany(group, asked.key, asked.context, stop));
      for (let at = 0; at < found.length; at += 32) digests.push(found.subarray(at, at + 32));
      asked.onProgress?.(digests.length, messages.length);
      [group, size] = [[], 0];
    };
    for (const [index, message] of messages.entries()) {
      const view = viewOf(message);
      unchanged(view, lengths[index] ?? view.length);
      if (view.length > GROUP_BYTES) {
        const all = pieces(view);
        await flush();
        digests.push(await consume(all, undefined, stop, { ...asked, onProgress: undefined }));
        asked.onProgress?.(digests.length, messages.length);
        continue;
      }
      const bytes = bytesOf(view);
      group.push(bytes);
      size += bytes.length;
      if (group.length === GROUP || size > GROUP_BYTES) await flush();
    }
    await flush();
    return digests;
  });
}

/** There for the names' sake. */
const load = () => Promise.resolve();

module.exports = {
  NodeHash,
  createDeriveKey,
  createHash,
  createKeyed,
  defaultHashLength,
  deriveKey,
  hash,
  hashAsync,
  hashFile,
  hashFiles,
  hashMany,
  hashStream,
  inputToArray: bytesOf,
  keyedHash,
  load,
  maxHashBytes,
};
