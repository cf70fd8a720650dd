'use strict';
// BLAKE3: the names of the package `blake3`, and additional asynchronous functions.

const { stat } = require('node:fs/promises');
const { Transform } = require('node:stream');
const { fileURLToPath } = require('node:url');
const { copyBytes, isShared, toLength, toList, toNumber, copySecret, toBytes, wipe } = require('./arguments.cjs');
const { native, abortable, toError, unwrap } = require('./native.cjs');

const defaultHashLength = 32;
const maxHashBytes = 2n ** 64n - 1n;
const NONE = new Uint8Array();
const MAX_U32 = 2 ** 32 - 1;

/** Input up to this many bytes is buffered before a native hasher is created, which takes longer than hashing it. */
const BUFFER_BYTES = 4 * 1024;
/** Size in bytes of the array for buffered input, one message after the other. Callers never see it. */
const SLAB = 16 * 1024;
/** Input up to this many bytes is hashed on this thread: another thread would start later than this one ends. */
const AT_ONCE = 128 * 1024;
/** Larger input is copied and hashed in pieces, so that Node's event loop runs in between. */
const PIECE = 2 * 1024 * 1024;
/** Maximum number and bytes of buffers that go to another thread together. */
const GROUP = 16 * 1024;
const GROUP_BYTES = 8 * 1024 * 1024;
/** Milliseconds between two reports on a file. */
const REPORT = 50;

/** A digest is small, and Node pools such buffers; a key gets memory that no other buffer shares. */
const newOutput = (length, isKey = false) => (isKey ? Buffer.alloc : Buffer.allocUnsafe)(toLength(length));

function hash(input, { length = defaultHashLength } = {}) {
  const out = newOutput(length);
  native.hash(copyBytes(input), out);
  return out;
}

function keyedHash(key, input, { length = defaultHashLength } = {}) {
  const out = newOutput(length);
  native.keyedHash(toKey(key), copyBytes(input), out);
  return out;
}

function deriveKey(context, material, { length = defaultHashLength } = {}) {
  const out = newOutput(length, true);
  native.deriveKey(copyBytes(context), copySecret(material), out);
  return out;
}

function toKey(key) {
  const bytes = copySecret(key);
  if (bytes.length !== 32) throw new TypeError(`a key of ${bytes.length} bytes: 32 are needed`);
  return bytes;
}

let slab = new Uint8Array(SLAB);
let used = 0;

/** Memory for `length` bytes of buffered input. */
function allocateBuffered(length) {
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

  /** `size` bytes, or the remaining ones if fewer. */
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
    const out = Buffer.allocUnsafe(this.#left(toLength(bytes)));
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

/** A hash in progress; also a stream that takes bytes and emits the digest. */
class NodeHash extends Transform {
  /** Created at the start with a key or a context, otherwise when the input exceeds the buffer. */
  #native;
  #isKeyed;
  /** Whether its input and its output are secrets. */
  #isKey;
  #buffered = NONE;
  #length = 0;
  /** Memory for a copy of a piece of a stream, and the copy, until it is hashed. */
  #pieceBuffer = NONE;
  #waiting = NONE;
  /** The error of a piece of a stream: after it there is no digest. */
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
      const bytes = isEncoded ? Buffer.from(data, encoding) : copySecret(data);
      try {
        this.#hashWaiting();
        this.#native.update(bytes);
      } finally {
        wipe([bytes], [data]);
      }
      return this;
    }
    const bytes = isEncoded ? Buffer.from(data, encoding) : toBytes(data);
    this.#hashWaiting();
    const length = this.#length + bytes.length;
    if (this.#native === undefined && length <= BUFFER_BYTES) {
      if (length > this.#buffered.length) {
        // Most messages are a single piece.
        const larger = allocateBuffered(this.#length === 0 ? length : BUFFER_BYTES);
        larger.set(this.#buffered);
        this.#buffered = larger;
      }
      this.#buffered.set(bytes, this.#length);
      this.#length = length;
    } else {
      this.#createNative().update(copyBytes(bytes));
    }
    return this;
  }

  /** Copies a piece, which is hashed after its source has requested the next one: files are read meanwhile. */
  #deferPiece(piece) {
    this.#hashWaiting();
    if (piece.length > this.#pieceBuffer.length) this.#pieceBuffer = new Uint8Array(piece.length);
    this.#pieceBuffer.set(piece);
    this.#waiting = this.#pieceBuffer.subarray(0, piece.length);
    // Node requests it in a tick, and microtasks run after all ticks.
    queueMicrotask(() => {
      try {
        this.#hashWaiting();
      } catch (error) {
        this.destroy(error);
      }
    });
  }

  /** Hashes the waiting piece, before anything else is done. */
  #hashWaiting() {
    if (this.#failure) throw this.#failure.error;
    if (this.#waiting.length === 0) return;
    const piece = this.#waiting;
    this.#waiting = NONE;
    try {
      this.#createNative().update(piece);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  #message() {
    return this.#buffered.subarray(0, this.#length);
  }

  #createNative() {
    if (this.#native === undefined) {
      const hasher = new native.Hasher();
      hasher.update(this.#message());
      [this.#native, this.#buffered] = [hasher, NONE];
    }
    return this.#native;
  }

  digest(encoding, options) {
    const isOptions = typeof encoding === 'object' && encoding !== null;
    const { length = defaultHashLength } = (isOptions ? encoding : options) ?? {};
    const out = newOutput(length, this.#isKey);
    this.#hashWaiting();
    if (this.#native === undefined) native.hash(this.#message(), out);
    else this.#native.digest(out);
    return isOptions || encoding === undefined ? out : out.toString(encoding);
  }

  reader() {
    this.#hashWaiting();
    return new HashReader(this.#createNative().reader());
  }

  /** Only for compatibility: memory is freed with the object. */
  dispose() {}

  _transform(chunk, encoding, callback) {
    let error = null;
    try {
      // Key material is not copied.
      if (!this.#isKeyed && chunk instanceof Uint8Array && chunk.length > BUFFER_BYTES && chunk.length <= AT_ONCE) this.#deferPiece(chunk);
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
const createKeyed = (key) => new NodeHash(new native.Hasher(toKey(key)));
const createDeriveKey = (context) => new NodeHash(new native.Hasher(undefined, copyBytes(context)), true);

/** Common code of the functions below. */
function parseOptions({ length = defaultHashLength, key, context, signal, onProgress, threads = 0, engine } = {}) {
  if (key !== undefined && context !== undefined) throw new TypeError('key and context exclude one another');
  if (context !== undefined && typeof context !== 'string') throw new TypeError('context: a string is needed');
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw new TypeError('onProgress: a function is needed');
  }
  if (engine !== undefined && typeof engine !== 'string') throw new TypeError('engine: a string is needed');
  return {
    length: toLength(length),
    key: key === undefined ? undefined : toKey(key),
    context,
    signal,
    onProgress,
    threads: toNumber('threads', threads, MAX_U32),
    engine,
  };
}

/** After a wait a buffer may have been transferred or resized. */
function ensureLength(bytes, length) {
  if (bytes.length === length) return bytes;
  throw new TypeError(`the buffer went from ${length} to ${bytes.length} bytes while it was hashed`);
}

/** Bytes in pieces, with their current length. The consumer waits between pieces. */
function* pieces(bytes, length = bytes.length) {
  for (let start = 0; start < length; start += PIECE) {
    yield ensureLength(bytes, length).subarray(start, start + PIECE);
  }
}

/** Closes a source. Its result is ignored and not awaited. */
function closeIgnoringErrors(close) {
  try {
    Promise.resolve(close()).catch(() => {});
  } catch {
    // An error while closing is ignored.
  }
}

/** The hash of an iterator's output: large pieces on another thread, one of them while the next is fetched. */
async function consume(iterator, total, stop, { length, key, context, onProgress }) {
  const hasher = new native.Hasher(key, context === undefined ? undefined : copyBytes(context));
  let done = 0;
  let ahead;
  try {
    for (;;) {
      // No other code runs between a piece and its copy, unless the source itself waits.
      const step = iterator.next();
      const next = typeof step?.then === 'function' ? await step : step;
      if (next.done) break;
      for (const part of pieces(toBytes(next.value))) {
        const piece = copyBytes(part);
        done += piece.length;
        if (ahead === undefined && piece.length <= AT_ONCE) {
          hasher.update(piece);
        } else {
          const later = hasher.updateLater(piece, stop);
          unwrap(await ahead);
          ahead = later;
          // Later small pieces are hashed on this thread again.
          if (piece.length <= AT_ONCE) ahead = unwrap(await later) ?? undefined;
        }
        onProgress?.(done, total);
      }
    }
    unwrap(await ahead);
  } catch (error) {
    stop.set();
    closeIgnoringErrors(() => iterator.return?.());
    throw error;
  }
  const out = newOutput(length, context !== undefined);
  hasher.digest(out);
  return out;
}

async function hashAsync(input, options) {
  const bytes = toBytes(input);
  if (options === undefined && bytes.length <= AT_ONCE) return hash(bytes);
  const parsed = parseOptions(options);
  const stop = new native.Stop();
  return abortable(parsed.signal, stop, () => consume(pieces(bytes), bytes.length, stop, parsed));
}

function toIterator(source) {
  if (source instanceof ReadableStream) {
    // Its own iterator reacts to an end only after the pending read.
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
  const parsed = parseOptions(options);
  const work = new native.Stop();
  let iterator;
  const stop = {
    set() {
      work.set();
      // A stream without output would never reach the end of its iterator.
      closeIgnoringErrors(() => (typeof source.destroy === 'function' ? source.destroy() : iterator.return?.()));
    },
  };
  return abortable(parsed.signal, stop, async () => {
    iterator = toIterator(source);
    return consume(iterator, undefined, work, parsed);
  });
}

function toPath(path) {
  if (path instanceof URL) return fileURLToPath(path);
  if (typeof path === 'string') return path;
  throw new TypeError('path: a string or a URL is needed');
}

/** The digests or errors of files; `report` periodically gets the number of bytes hashed. */
async function hashPaths(paths, parsed, report) {
  const { key, context, length, threads, signal, engine } = parsed;
  const job = new native.FilesJob(key, context, toNumber('length', length, MAX_U32), threads, engine);
  return abortable(signal, job, async () => {
    let last = 0;
    let thrown;
    const reportBytes = (bytes) => {
      if (bytes > last) report((last = bytes));
    };
    const poll = () => {
      try {
        reportBytes(job.bytes ?? 0);
      } catch (error) {
        thrown ??= { error };
        job.set();
      }
    };
    const timer = report && setInterval(poll, REPORT);
    try {
      const answer = await job.run(paths);
      if (thrown) throw thrown.error;
      const found = unwrap(answer);
      if (report) reportBytes(found.bytes);
      return found;
    } finally {
      clearInterval(timer);
    }
  });
}

async function hashFile(path, options) {
  const parsed = parseOptions(options);
  const name = toPath(path);
  const { onProgress } = parsed;
  const total = onProgress && (await stat(name).catch(() => undefined))?.size;
  const found = await hashPaths([name], parsed, onProgress && ((done) => onProgress(done, total)));
  if (found.failures.length > 0) throw toError(found.failures[0].failure, name);
  return found.digests;
}

async function hashFiles(paths, options) {
  const parsed = parseOptions(options);
  const names = toList('paths', paths).map(toPath);
  const { length, onProgress } = parsed;
  const found = await hashPaths(names, parsed, onProgress && ((done) => onProgress(done, undefined)));
  const failures = new Map(found.failures.map(({ index, failure }) => [index, failure]));
  return names.map((name, index) => {
    const failure = failures.get(index);
    if (failure) return { status: 'rejected', reason: toError(failure, name) };
    return { status: 'fulfilled', value: found.digests.subarray(index * length, (index + 1) * length) };
  });
}

async function hashMany(list, options) {
  const parsed = parseOptions(options);
  if (parsed.length !== defaultHashLength) throw new RangeError('length: digests of lists have 32 bytes');
  const stop = new native.Stop();
  // Their current lengths: later buffers are hashed later. Strings are immutable and need no length.
  const messages = toList('list', list);
  const lengths = messages.map((message) => message?.byteLength);
  return abortable(parsed.signal, stop, async () => {
    const digests = [];
    let group = [];
    let size = 0;
    const flush = async () => {
      if (group.length === 0) return;
      const found = unwrap(await native.hashMany(group, parsed.key, parsed.context, stop));
      for (let at = 0; at < found.length; at += 32) digests.push(found.subarray(at, at + 32));
      parsed.onProgress?.(digests.length, messages.length);
      [group, size] = [[], 0];
    };
    for (const [index, message] of messages.entries()) {
      const view = toBytes(message);
      ensureLength(view, lengths[index] ?? view.length);
      if (view.length > GROUP_BYTES) {
        const all = pieces(view);
        await flush();
        digests.push(await consume(all, undefined, stop, { ...parsed, onProgress: undefined }));
        parsed.onProgress?.(digests.length, messages.length);
        continue;
      }
      const bytes = copyBytes(view);
      group.push(bytes);
      size += bytes.length;
      if (group.length === GROUP || size > GROUP_BYTES) await flush();
    }
    await flush();
    return digests;
  });
}

/** Only for compatibility. */
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
  inputToArray: copyBytes,
  keyedHash,
  load,
  maxHashBytes,
};
