import type { ConnectionId, MessageId } from '../../ids.ts'

/** A recipient that makes the sandbox fail, in words for people. */
interface SandboxCommandText {
  readonly recipient: string
  readonly happens: string
  readonly ends: string
}

/** A copy of delivered media, open for reading. */
export interface OpenCopy {
  readonly sizeBytes: number
  /** Detected from the bytes when it was opened, never from a name. */
  readonly mime: string
  /** The bytes from the one position to the other, both included. Closes the copy at its end. */
  read(from: number, to: number): AsyncIterable<Uint8Array>
  /** Harmless twice. */
  close(): Promise<void>
}

interface ReadDelivery {
  readonly connectionId: ConnectionId
  readonly messageId: MessageId
  readonly attemptNumber: number
}

/** What the sandbox channel has to show beside what it remembers. */
export interface SandboxShow {
  readonly commands: readonly SandboxCommandText[]
  /** Null when there is none on this machine: it made room for newer ones, or another machine delivered it. */
  openCopy(messageId: MessageId): Promise<OpenCopy | null>
  /** Deletes the copy that lies on this machine. Harmless when there is none. */
  removeCopy(messageId: MessageId): Promise<void>
  /** Has the sandbox report that the recipient has read it now, within seconds. Harmless twice. */
  markRead(delivery: ReadDelivery): Promise<void>
}
