import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../../test/support/black-box/free-port.ts'
import { waitUntil } from '../../test/support/black-box/wait-until.ts'
import { recipientAt, TEXT } from '../send-request.ts'

const READY_WITHIN_MS = 10_000
/** Kannel's answer when it has put a message into its store. */
export const KANNEL_TAKES = 202

/**
 * Kannel as Debian packages it, with its spool store: it writes a file for each message, and does not flush it. Its only network
 * has no connection, so all messages stay in the store, as with our paused lanes.
 */
export class Kannel {
  readonly port: number
  readonly #folder: string
  readonly #boxes: readonly ChildProcess[]

  private constructor(parts: { port: number; folder: string; boxes: readonly ChildProcess[] }) {
    this.port = parts.port
    this.#folder = parts.folder
    this.#boxes = parts.boxes
  }

  static async start(folder: string): Promise<Kannel> {
    mkdirSync(join(folder, 'spool'))
    const [admin, box, network, port] = await Promise.all([
      findFreePort(),
      findFreePort(),
      findFreePort(),
      findFreePort(),
    ])
    const file = join(folder, 'kannel.conf')
    writeFileSync(file, configuration({ folder, admin, box, network, port }))
    const bearerbox = startBox('bearerbox', file)
    await waitUntil('Kannel’s bearerbox answers', () => answers(admin, '/status.txt'), WAITS)
    const smsbox = startBox('smsbox', file)
    await waitUntil('Kannel’s smsbox answers', () => answers(port, '/'), WAITS)
    return new Kannel({ port, folder, boxes: [bearerbox, smsbox] })
  }

  /** The process that accepts requests. */
  get pid(): number {
    return this.#boxes[1]?.pid ?? 0
  }

  /** Requests with the same text that is sent to us. */
  requests(numbers: readonly string[]): readonly string[] {
    return numbers.map((from) => {
      const query = new URLSearchParams({ username: 'bench', password: 'bench', from, to: recipientAt(0), text: TEXT })
      return `GET /cgi-bin/sendsms?${query} HTTP/1.1\r\nhost: 127.0.0.1\r\nuser-agent: nuncio-bench\r\n\r\n`
    })
  }

  /** How many messages are in its store. */
  stored(): number {
    return readdirSync(join(this.#folder, 'spool'), { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    ).length
  }

  async stop(): Promise<void> {
    // The process that accepts requests stops first. Neither has anything to save: accepted messages are in the store.
    for (const box of this.#boxes.toReversed()) {
      if (box.exitCode !== null || box.signalCode !== null) continue
      const ended = once(box, 'exit')
      box.kill('SIGKILL')
      await ended
    }
  }
}

const WAITS = { deadlineMs: READY_WITHIN_MS, everyMs: 50 }

/** The version of Kannel; null if it is not installed. */
export function installedKannel(): string | null {
  const { stdout } = spawnSync('bearerbox', ['--version'], { encoding: 'utf8' })
  return /version `([^']+)'/.exec(stdout ?? '')?.[1] ?? null
}

function startBox(program: string, file: string): ChildProcess {
  // 4: it logs only fatal errors.
  return spawn(program, ['-v', '4', file], { stdio: 'ignore' })
}

async function answers(port: number, path: string): Promise<boolean> {
  const reply = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => null)
  return reply !== null
}

interface Wanted {
  readonly folder: string
  readonly admin: number
  readonly box: number
  readonly network: number
  readonly port: number
}

function configuration({ folder, admin, box, network, port }: Wanted): string {
  return `group = core
admin-port = ${admin}
admin-interface = "127.0.0.1"
admin-password = bench
smsbox-port = ${box}
smsbox-interface = "127.0.0.1"
box-allow-ip = "127.0.0.1"
store-type = spool
store-location = "${join(folder, 'spool')}"

group = smsc
smsc = fake
smsc-id = none
port = ${network}
connect-allow-ip = "127.0.0.1"

group = smsbox
bearerbox-host = 127.0.0.1
bearerbox-port = ${box}
sendsms-port = ${port}
sendsms-interface = "127.0.0.1"

group = sendsms-user
username = bench
password = bench
`
}
