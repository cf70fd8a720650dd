import { Transform, TransformCallback } from 'node:stream';

/** Input of a hash. Strings are encoded as UTF-8, with lone surrogates as U+FFFD. */
export type HashInput = Uint8Array | ArrayBuffer | SharedArrayBuffer | string;

export interface IBaseHashOptions {
  /** Bytes of output. Default: 32. */
  length?: number;
}

export interface HashReader extends Iterable<Readonly<Uint8Array>> {
  /** Position of the next byte in the output: 0 to 2^64 - 1. */
  position: bigint;
  /** Fills the target, and returns the number of bytes: fewer only at the end of the output. */
  readInto(target: Uint8Array): number;
  read(bytes: number): Buffer;
  view(bytes: number): Readonly<Uint8Array>;
}

/** A hash in progress; also a stream that takes bytes and emits the digest. */
export class NodeHash extends Transform {
  private constructor();
  update(data: HashInput, encoding?: BufferEncoding): this;
  // First, because strings have a `length`, too.
  digest(encoding: BufferEncoding, options?: IBaseHashOptions): string;
  digest(encoding: undefined, options: IBaseHashOptions): Buffer;
  digest(options?: IBaseHashOptions): Buffer;
  reader(): HashReader;
  /** Does nothing: memory is freed with the object. */
  dispose(): void;
  override _transform(chunk: Buffer | string, encoding: string, callback: TransformCallback): void;
  override _flush(callback: TransformCallback): void;
}

/** Hashes synchronously, on this thread and, for large input, with the help of others. */
export function hash(input: HashInput, options?: IBaseHashOptions): Buffer;
export function keyedHash(key: HashInput, input: HashInput, options?: IBaseHashOptions): Buffer;
export function deriveKey(context: HashInput, material: HashInput, options?: IBaseHashOptions): Buffer;

export function createHash(): NodeHash;
export function createKeyed(key: HashInput): NodeHash;
export function createDeriveKey(context: HashInput): NodeHash;

export interface HashOptions extends IBaseHashOptions {
  /** 32 bytes for the keyed hash. */
  key?: HashInput;
  /** The purpose of a key, for key derivation. Not together with `key`. */
  context?: string;
  /** Aborts the work; the promise is rejected with the signal's reason. */
  signal?: AbortSignal;
  /** Called periodically with the progress. An exception from it ends the work. */
  onProgress?(done: number, total: number | undefined): void;
}

export interface FileOptions extends HashOptions {
  /** Maximum number of threads. Default: the number of processors. */
  threads?: number;
  /**
   * Engine for long files: `cpu` (default), `cuda`, `wgpu`, or a device as `cuda:1`. An engine that is not available, or fails, is
   * an `EngineError`. A device hashes files no faster than its bus.
   */
  engine?: string;
}

/**
 * The hash of a buffer, in pieces on other threads: the event loop runs in between. A buffer that changes its length meanwhile
 * is a TypeError; if its bytes change, the hash is that of a mixture.
 */
export function hashAsync(input: HashInput, options?: HashOptions): Promise<Buffer>;

/** The hash of all output of a stream, or of another iterable. */
export function hashStream(
  source: AsyncIterable<HashInput> | (Iterable<HashInput> & object),
  options?: HashOptions,
): Promise<Buffer>;

/** The hash of a file. Errors are like those of `node:fs`, with `code`, `errno` and `path`. */
export function hashFile(path: string | URL, options?: FileOptions): Promise<Buffer>;

/** The hash of each file, or the reason why there is none, in the same order. Progress is in bytes. A single path is not a list. */
export function hashFiles(
  paths: Iterable<string | URL> & object,
  options?: FileOptions,
): Promise<PromiseSettledResult<Buffer>[]>;

/** The hash of each buffer, in the same order: side by side, and on other threads. Progress is in buffers. */
export function hashMany(list: Iterable<HashInput> & object, options?: Omit<HashOptions, 'length'>): Promise<Buffer[]>;

export const defaultHashLength: 32;
export const maxHashBytes: bigint;
export function inputToArray(input: HashInput): Uint8Array;
/** Does nothing: there is nothing to load. */
export function load(): Promise<void>;
