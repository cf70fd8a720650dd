/** What can be hashed. A text is encoded as UTF-8, and half a surrogate pair becomes U+FFFD. */
export type HashInput = Uint8Array | ArrayBuffer | SharedArrayBuffer | ArrayBufferView | string

export interface IBaseHashOptions {
  /** How many bytes of output: 32 if nothing else is said. */
  length?: number
}

export type BrowserEncoding = "hex" | "base64" | "utf8"

/** A digest: bytes that know how to be written. */
export declare class Hash extends Uint8Array {
  /** Whether these are the same bytes. Takes the same time wherever they differ. */
  equals(other: unknown): boolean
  /** In hexadecimal digits, if nothing else is said. */
  toString(encoding?: BrowserEncoding): string
}

/** Reads output from any place on, up to 2^64 - 1 bytes. */
export interface IHashReader<T> extends Iterable<Readonly<Uint8Array>> {
  position: bigint
  readInto(target: Uint8Array): number
  read(bytes: number): T
  view(bytes: number): Readonly<Uint8Array>
}

export interface IHasher<T> {
  update(data: HashInput): this
  digest(options?: IBaseHashOptions): T
  reader(): IHashReader<T>
  /** Forgets the state, with its key. Memory is freed without it, too. */
  dispose(): void
}

export declare class BrowserHasher implements IHasher<Hash> {
  private constructor()
  update(data: HashInput): this
  // A text has a length, too, and would be taken for options.
  digest(encoding: BrowserEncoding, options?: IBaseHashOptions): string
  digest(encoding: undefined, options: IBaseHashOptions): Hash
  digest(options?: IBaseHashOptions & object): Hash
  reader(): IHashReader<Hash>
  dispose(): void
}

export declare const defaultHashLength: 32
export declare const maxHashBytes: bigint
export declare const inputToArray: (input: HashInput) => Uint8Array

/** Loads the module. In a browser whatever answers at once must come after it; in Node it is there. */
export declare function load(): Promise<void>

export declare function hash(input: HashInput, options?: IBaseHashOptions): Hash
export declare function keyedHash(key: HashInput, input: HashInput, options?: IBaseHashOptions): Hash
export declare function deriveKey(context: HashInput, material: HashInput, options?: IBaseHashOptions): Hash
export declare const createHash: () => BrowserHasher
export declare const createKeyed: (key: HashInput) => BrowserHasher
export declare const createDeriveKey: (context: HashInput) => BrowserHasher

export interface AsyncHashOptions extends IBaseHashOptions {
  /** Of 32 bytes; excludes a context. */
  key?: HashInput
  /** For a derived key; excludes a key. */
  context?: HashInput
  /** Ends the work, which then fails with the signal's reason. */
  signal?: AbortSignal
  /** Called with the bytes that are done, and all that there are, if that is known. */
  onProgress?: (done: number, total: number | undefined) => void
}

export interface BlobHashOptions extends AsyncHashOptions {
  onProgress?: (done: number, total: number) => void
  /** How many workers at most: up to four, if nothing is said; 0 for none. */
  threads?: number
}

/** The digest of bytes or a text, in pieces between which others have their turn. */
export declare function hashAsync(input: HashInput, options?: AsyncHashOptions): Promise<Hash>
/** The digest of what comes in pieces. */
export declare function hashStream(
  stream: ReadableStream<HashInput> | AsyncIterable<HashInput> | Iterable<HashInput>,
  options?: AsyncHashOptions,
): Promise<Hash>
/** The digest of a Blob or a File, by workers where there are some. */
export declare function hashBlob(blob: Blob, options?: BlobHashOptions): Promise<Hash>
