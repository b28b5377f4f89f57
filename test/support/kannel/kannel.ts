import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { findFreePort } from '../black-box/free-port.ts'
import { waitUntil } from '../black-box/wait-until.ts'
import type { HttpNetwork } from './http-network.ts'

const PROGRAMS = {
  bearerbox: '/usr/sbin/bearerbox',
  smsbox: '/usr/sbin/smsbox',
  fakesmsc: '/usr/lib/kannel/test/fakesmsc',
} as const
const USER = { name: 'nuncio', password: 'secret1234' }
type Program = keyof typeof PROGRAMS
type Ports = Readonly<Record<'admin' | 'smsbox' | 'smsc' | 'sendsms', number>>

/** Why Kannel cannot be run here; null when it can. */
export function kannelObstacle(): string | null {
  const missing = Object.values(PROGRAMS).filter((path) => !existsSync(path))
  return missing.length === 0 ? null : `needs the Debian packages kannel and kannel-extras: ${missing.join(', ')}`
}

interface KannelParts {
  readonly ports: Ports
  /** Replaces the SMSC that prints what it receives. */
  readonly network: HttpNetwork | null
}

/**
 * A Kannel of the test's own: bearerbox, smsbox and an SMSC that prints what it receives. It routes only numbers that begin with
 * 1555.
 */
export class Kannel {
  readonly passwordFile: string
  readonly url: string
  readonly statusUrl: string
  readonly #folder: string
  readonly #ports: Ports
  readonly #network: HttpNetwork | null
  readonly #running = new Map<Program, ChildProcess>()
  #printed = ''

  private constructor(folder: string, { ports, network }: KannelParts) {
    this.#folder = folder
    this.#ports = ports
    this.#network = network
    this.url = `http://127.0.0.1:${ports.sendsms}`
    this.statusUrl = `http://127.0.0.1:${ports.admin}/status.xml?password=adm`
    this.passwordFile = join(folder, 'password')
    writeFileSync(this.passwordFile, `${USER.password}\n`)
    writeFileSync(join(folder, 'k.conf'), this.#configuration(USER))
  }

  static async create(folder: string, network: HttpNetwork | null = null): Promise<Kannel> {
    const [admin, smsbox, smsc, sendsms] = [
      await findFreePort(),
      await findFreePort(),
      await findFreePort(),
      await findFreePort(),
    ]
    return new Kannel(folder, { ports: { admin, smsbox, smsc, sendsms }, network })
  }

  async startAll(): Promise<void> {
    await this.start('bearerbox')
    await this.start('smsbox')
    if (!this.#network) await this.start('fakesmsc')
  }

  /** Resolves once the program is ready. */
  async start(program: Program): Promise<void> {
    const { smsbox, smsc, sendsms } = this.#ports
    const given =
      program === 'fakesmsc'
        ? ['-H', '127.0.0.1', '-r', String(smsc), '-m', '0', '1 2 text nop']
        : ['-v', '4', 'k.conf']
    const child = spawn(PROGRAMS[program], given, { cwd: this.#folder, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#running.set(program, child)
    const isUp = {
      // A smsbox ends if it cannot connect, and bearerbox opens this port late, in another thread.
      bearerbox: async () => (await this.#status()).includes('<status>running') && isListening(smsbox),
      smsbox: async () => (await isListening(sendsms)) && (await this.#status()).includes('<type>smsbox<'),
      fakesmsc: async () => (await this.#status()).includes('<status>online'),
    }
    for (const output of [child.stdout, child.stderr])
      output.on('data', (text: Buffer) => {
        if (program === 'fakesmsc') this.#printed += text.toString()
      })
    await waitUntil(`${program} does its work`, isUp[program], { deadlineMs: 30_000 })
  }

  signal(program: Program, signal: NodeJS.Signals): void {
    this.#running.get(program)?.kill(signal)
  }

  async kill(program: Program): Promise<void> {
    const child = this.#running.get(program)
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }

  async close(): Promise<void> {
    for (const program of ['fakesmsc', 'smsbox', 'bearerbox'] as const) await this.kill(program)
  }

  /** What the SMSC received, in order: `recipient text`. */
  get arrived(): readonly string[] {
    return [...this.#printed.matchAll(/Got message \d+: <\S+ (\S+) (\S+) (.*?)>\n/g)].map(
      ([, to, kind, text = '']) =>
        `${to} ${kind === 'text' ? decodeURIComponent(text.replaceAll('+', ' ')) : utf16Of(text)}`,
    )
  }

  /** Changes the user of smsbox. Only a restarted smsbox applies the change. */
  async changeUser(change: Partial<typeof USER>): Promise<void> {
    writeFileSync(join(this.#folder, 'k.conf'), this.#configuration({ ...USER, ...change }))
    await this.kill('smsbox')
    await this.start('smsbox')
  }

  /** Sends a report of the HTTP network. `kind` is Kannel's number for the result (2: failed). */
  async report(id: string, kind: number): Promise<void> {
    const url = `http://127.0.0.1:${this.#ports.smsc}/?username=&password=&from=&to=&dlr-mid=${id}&dlr-mask=${kind}`
    // Kannel may not have stored the network's id of the message yet.
    await waitUntil('Kannel takes the report', async () => (await fetch(url)).ok, { deadlineMs: 30_000 })
  }

  async #status(): Promise<string> {
    try {
      return await (await fetch(this.statusUrl, { signal: AbortSignal.timeout(2_000) })).text()
    } catch {
      return ''
    }
  }

  #configuration({ name, password }: typeof USER): string {
    const { admin, smsbox, smsc, sendsms } = this.#ports
    const groups = [
      `group = core; admin-port = ${admin}; admin-password = adm; admin-interface = 127.0.0.1; smsbox-port = ${smsbox}; box-allow-ip = 127.0.0.1; dlr-storage = internal; store-type = file; store-location = "k.store"; sms-outgoing-queue-limit = 3; sms-resend-freq = 2; sms-resend-retry = 1`,
      `group = smsc; ${this.#smsc()}; port = ${smsc}; connect-allow-ip = 127.0.0.1; allowed-prefix = "1555"`,
      `group = smsbox; bearerbox-host = 127.0.0.1; bearerbox-port = ${smsbox}; sendsms-port = ${sendsms}; sendsms-interface = 127.0.0.1; immediate-sendsms-reply = false; http-request-retry = 5; http-queue-delay = 2`,
      `group = sendsms-user; username = ${name}; password = ${password}; max-messages = 10; concatenation = true; user-allow-ip = 127.0.0.1; user-deny-ip = "*.*.*.*"`,
      'group = sms-service; keyword = default; catch-all = true; max-messages = 0; text = "x"',
    ]
    return `${groups.map((group) => group.replaceAll('; ', '\n')).join('\n\n')}\n`
  }

  #smsc(): string {
    if (!this.#network) return 'smsc = fake; smsc-id = fake1; host = 127.0.0.1'
    const sendUrl = `${this.#network.url}/?text=%b&to=%p&from=%P&mask=%d`
    const answers =
      'status-success-regex = "^ok"; status-permfail-regex = "^perm"; status-tempfail-regex = "^temp"; generic-foreign-id-regex = "id=([A-Za-z0-9]+)"'
    return `smsc = http; system-type = generic; smsc-id = http1; send-url = "${sendUrl}"; ${answers}`
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** fakesmsc prints bytes of UCS-2 as characters where it can, otherwise as `%` and two digits. */
function utf16Of(text: string): string {
  const bytes = [...text.matchAll(/%([0-9A-F]{2})|\+|([^%+])/g)].map(([sign, hexadecimal, letter]) =>
    hexadecimal === undefined ? (letter ?? (sign === '+' ? ' ' : '')).charCodeAt(0) : Number.parseInt(hexadecimal, 16),
  )
  return new TextDecoder('utf-16be').decode(Uint8Array.from(bytes))
}
