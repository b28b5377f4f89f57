import { randomUUID } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { assetPath } from '../assets/asset-path.ts'
import { CHANNELS } from '../channels/registry.ts'
import { isInstalled } from '../channels/whatsapp-web/is-installed.ts'
import { commandLine } from '../core/command-line.ts'
import { Refusal } from '../core/refusals.ts'
import { installFolder } from '../server/wiring/extra-folder.ts'
import { installWithNpm } from './install-with-npm.ts'

/** Packages of a channel that Nuncio does not distribute. */
export interface ChannelExtra {
  readonly channel: string
  readonly label: string
  /** The packages that a person must know of before they are installed. */
  readonly licences: readonly { readonly name: string; readonly version: string; readonly licence: string }[]
  /** What else a person must know, one sentence each. */
  readonly warnings: readonly string[]
}

const EXTRAS: readonly ChannelExtra[] = [
  {
    channel: 'whatsapp-web',
    label: 'WhatsApp Web',
    licences: [
      { name: 'baileys', version: '7.0.0-rc14', licence: 'MIT' },
      { name: 'libsignal', version: '6.0.0', licence: 'GPL-3.0' },
      {
        name: 'whatsapp-rust-bridge',
        version: '0.5.4',
        licence: 'MIT, with code of Signal under AGPL-3.0 built into it',
      },
    ],
    warnings: [
      'They are not part of Nuncio: npm downloads them to this machine. Anyone who passes on a system or an image that holds them must keep to these licences.',
      'They are an unofficial client. Meta forbids unauthorised tools and restricts numbers that use them.',
    ],
  },
]

// What the program carries of an extra. npm makes the rest from it.
const CARRIED = ['package.json', 'package-lock.json', 'signal']
// Longer than any installation takes, so that what is older was left behind by one that was killed.
const LEFT_BEHIND_MS = 3_600_000

/** `outdated`: installed for another version of Nuncio. */
type ExtraState = 'built-in' | 'installed' | 'outdated' | 'not-installed'

export interface ChannelRow {
  readonly channel: string
  readonly label: string
  readonly state: ExtraState
}

interface InstallRequest {
  readonly dataDir: string
  readonly channel: string
  /** A folder in which the same extra was installed elsewhere; null: npm downloads it. */
  readonly offline: string | null
}

export interface ChannelExtras {
  /** All channels: those that are part of the program, and those whose packages are installed by command. */
  list(dataDir: string): Promise<readonly ChannelRow[]>
  /** The extra of a channel. Refuses a channel that has none. */
  find(channel: string): ChannelExtra
  /** Resolves with false when it was installed before. */
  install(request: InstallRequest): Promise<boolean>
  /** Resolves with false when nothing was installed. */
  remove(dataDir: string, channel: string): Promise<boolean>
}

interface ExtrasParts {
  /** Installs what package-lock.json of the folder names. */
  readonly runNpm?: (folder: string) => Promise<void>
  /** The program's own folder of extras. An image may be built with the packages in it. */
  readonly programExtras?: string
}

export function createChannelExtras({
  runNpm = installWithNpm,
  programExtras = assetPath('extras'),
}: ExtrasParts = {}): ChannelExtras {
  return {
    list: (dataDir) => list(dataDir, programExtras),
    find,
    async install(request) {
      if (isInstalled(join(programExtras, request.channel))) return false
      return install(request, runNpm)
    },
    async remove(dataDir, channel) {
      if (isInstalled(join(programExtras, channel)))
        throw new Refusal(
          'argument_invalid',
          `The packages of ${channel} are part of this image. Use an image that was built without them.`,
        )
      return remove(dataDir, channel)
    },
  }
}

async function list(dataDir: string, programExtras: string): Promise<readonly ChannelRow[]> {
  const builtIn = CHANNELS.map(({ name, label }) => ({ channel: name, label, state: 'built-in' as const }))
  const extras = EXTRAS.map(async ({ channel, label }) => ({
    channel,
    label,
    state: isInstalled(join(programExtras, channel))
      ? ('installed' as const)
      : await stateOf(installFolder({ dataDir }, channel), channel),
  }))
  return [...builtIn, ...(await Promise.all(extras))]
}

function find(channel: string): ChannelExtra {
  const extra = EXTRAS.find((known) => known.channel === channel)
  if (extra) return extra
  if (CHANNELS.some(({ name }) => name === channel))
    throw new Refusal('argument_invalid', `The channel ${channel} is part of Nuncio, so nothing has to be installed.`)
  throw new Refusal('channel_unknown', `There is no channel “${channel}”. See them all: ${commandLine`channel list`}`)
}

async function install(
  { dataDir, channel, offline }: InstallRequest,
  runNpm: (folder: string) => Promise<void>,
): Promise<boolean> {
  const target = installFolder({ dataDir }, channel)
  if ((await stateOf(target, channel)) === 'installed') return false
  if (offline !== null) await refuseOtherContents(resolve(offline), channel)
  const extras = dirname(target)
  await mkdir(extras, { recursive: true })
  await removeLeftBehind(extras)
  // Installed aside and put in place when it is whole, so that one cut short is never taken for it.
  const aside = join(extras, `.${channel}-${randomUUID()}`)
  try {
    if (offline === null) {
      for (const name of CARRIED) await cp(carried(channel, name), join(aside, name), { recursive: true })
      await runNpm(aside)
    } else await copyInstalled(resolve(offline), aside)
    await refuseIncomplete(aside, channel)
    await rm(target, { recursive: true, force: true })
    await rename(aside, target)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
  return true
}

async function remove(dataDir: string, channel: string): Promise<boolean> {
  const folder = installFolder({ dataDir }, channel)
  const isThere = (await statOf(folder)) !== null
  await rm(folder, { recursive: true, force: true })
  return isThere
}

function carried(channel: string, name: string): string {
  return assetPath(join('extras', channel, name))
}

async function stateOf(folder: string, channel: string): Promise<ExtraState> {
  if (!isInstalled(folder)) return 'not-installed'
  return (await hasSameLock(folder, channel)) ? 'installed' : 'outdated'
}

async function hasSameLock(folder: string, channel: string): Promise<boolean> {
  const [installed, wanted] = await Promise.all(
    [join(folder, 'package-lock.json'), carried(channel, 'package-lock.json')].map((path) =>
      readFile(path, 'utf8').catch(() => null),
    ),
  )
  return installed !== null && installed === wanted
}

async function refuseOtherContents(folder: string, channel: string): Promise<void> {
  if (!isInstalled(folder))
    throw new Refusal(
      'file_unusable',
      `In the folder ${folder} the packages of ${channel} are not installed. On a machine that has npm: ${commandLine`channel install ${channel}`}, then copy the folder extras/${channel} of its data folder.`,
    )
  if (!(await hasSameLock(folder, channel)))
    throw new Refusal(
      'file_unusable',
      `The packages in the folder ${folder} are of another version than this Nuncio needs. Install them with the same version of Nuncio.`,
    )
}

/** Links stay as they are: npm makes one from the packages to the wrapper beside them. */
async function copyInstalled(from: string, to: string): Promise<void> {
  await mkdir(to)
  for (const name of [...CARRIED, 'node_modules'])
    await cp(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true })
}

/** When the disk is full or a download breaks off, npm may leave packages out and report success. */
async function refuseIncomplete(folder: string, channel: string): Promise<void> {
  const lock = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8')) as Lock
  for (const [path, { version, peer, link, optional }] of Object.entries(lock.packages)) {
    if (path === '' || peer || optional) continue
    const found = await readFile(join(folder, path, 'package.json'), 'utf8').catch(() => null)
    if (found !== null && (link || (JSON.parse(found) as { version?: string }).version === version)) continue
    throw new Refusal(
      'program_failed',
      `npm left out ${path.replace(/^.*node_modules\//, '')} of the channel ${channel}. Check whether the network works and the disk has room, and try again.`,
    )
  }
}

interface Lock {
  readonly packages: Readonly<
    Record<
      string,
      { readonly version?: string; readonly peer?: boolean; readonly link?: boolean; readonly optional?: boolean }
    >
  >
}

async function removeLeftBehind(extras: string): Promise<void> {
  for (const name of await readdir(extras)) {
    if (!name.startsWith('.')) continue
    const stats = await statOf(join(extras, name))
    if (stats && Date.now() - stats.mtimeMs > LEFT_BEHIND_MS)
      await rm(join(extras, name), { recursive: true, force: true })
  }
}

function statOf(path: string) {
  return stat(path).catch(() => null)
}
