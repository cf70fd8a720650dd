import { Transform, TransformCallback } from 'node:stream';

/** What can be hashed. Strings are taken in UTF-8, and lone surrogates in them as U+FFFD. */
export type HashInput = Uint8Array | ArrayBuffer | SharedArrayBuffer | string;

export interface IBaseHashOptions {
  /** Bytes of output: 32 unless said. */
  length?: number;
}

export interface HashReader extends Iterable<Readonly<Uint8Array>> {
  /** Where in the output the next byte comes from: 0 to 2^64 - 1. */
  position: bigint;
  /** Fills the target, and gives how many bytes: fewer only at the end of the output. */
  readInto(target: Uint8Array): number;
  read(bytes: number): Buffer;
  view(bytes: number): Readonly<Uint8Array>;
}

/** A hash in progress; also a stream that takes bytes and gives the digest. */
export class NodeHash extends Transform {
  private constructor();
  update(data: HashInput, encoding?: BufferEncoding): this;
  // First, because text has a `length` too.
  digest(encoding: BufferEncoding, options?: IBaseHashOptions): string;
  digest(encoding: undefined, options: IBaseHashOptions): Buffer;
  digest(options?: IBaseHashOptions): Buffer;
  reader(): HashReader;
  /** Does nothing: memory goes with the object. */
  dispose(): void;
  override _transform(chunk: Buffer | string, encoding: string, callback: TransformCallback): void;
  override _flush(callback: TransformCallback): void;
}

/** Hashes at once, on this thread and, where there is much, with the help of others. */
export function hash(input: HashInput, options?: IBaseHashOptions): Buffer;
export function keyedHash(key: HashInput, input: HashInput, options?: IBaseHashOptions): Buffer;
export function deriveKey(context: HashInput, material: HashInput, options?: IBaseHashOptions): Buffer;

export function createHash(): NodeHash;
export function createKeyed(key: HashInput): NodeHash;
export function createDeriveKey(context: HashInput): NodeHash;

export interface HashOptions extends IBaseHashOptions {
  /** 32 bytes: the keyed hash. */
  key?: HashInput;
  /** What a key is for: key derivation. Not together with `key`. */
  context?: string;
  /** Ends the work; the promise is rejected with the signal's reason. */
  signal?: AbortSignal;
  /** Hears now and then how far it is. What it throws ends the work. */
  onProgress?(done: number, total: number | undefined): void;
}

export interface FileOptions extends HashOptions {
  /** The most threads; as many as there are processors unless said. */
  threads?: number;
}

/**
 * The hash of a buffer, in pieces on other threads: Node goes on in between. A buffer that changes its length meanwhile is a
 * TypeError; one that changes its bytes gives the hash of some mixture.
 */
export function hashAsync(input: HashInput, options?: HashOptions): Promise<Buffer>;

/** The hash of all that a stream gives, or another iterable. */
export function hashStream(
  source: AsyncIterable<HashInput> | (Iterable<HashInput> & object),
  options?: HashOptions,
): Promise<Buffer>;

/** The hash of a file. Errors are as those of `node:fs`, with `code`, `errno` and `path`. */
export function hashFile(path: string | URL, options?: FileOptions): Promise<Buffer>;

/** The hash of each file, or why there is none, in their order. Progress is in bytes. A single path is not a list. */
export function hashFiles(
  paths: Iterable<string | URL> & object,
  options?: FileOptions,
): Promise<PromiseSettledResult<Buffer>[]>;

/** The hash of each buffer, in their order: side by side, and on other threads. Progress is in buffers. */
export function hashMany(list: Iterable<HashInput> & object, options?: Omit<HashOptions, 'length'>): Promise<Buffer[]>;

export const defaultHashLength: 32;
export const maxHashBytes: bigint;
export function inputToArray(input: HashInput): Uint8Array;
/** Does nothing: there is nothing to load. */
export function load(): Promise<void>;
