import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
// A mount namespace removes all mounts at the end. `exec` leaves no process in between, so signals arrive.
const ENTER = 'mount --bind "$1" "$1"; cd "$1"; shift; mount -t proc proc proc; exec chroot . env -i "$@"'

/** A fresh Debian in a folder, without systemd, as in a container. It shares the network of this machine. */
export class DebianSystem {
  readonly root = mkdtempSync(join(tmpdir(), 'nuncio-debian-'))

  constructor() {
    chmodSync(this.root, 0o755)
    const tar = join(this.root, 'tmp.tar')
    execFileSync('mmdebstrap', ['--quiet', '--variant=minbase', '--include=adduser', 'bookworm', tar], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    execFileSync('tar', ['--extract', '--file', tar, '--directory', this.root])
    rmSync(tar)
  }

  /** The words before a command that runs it in this system, without settings of this machine. */
  enter(...command: readonly string[]): readonly string[] {
    return ['unshare', '--mount', 'sh', '-ec', ENTER, 'sh', this.root, `PATH=${PATH}`, 'LC_ALL=C.UTF-8', ...command]
  }

  /** Runs a command as root. */
  run(...command: readonly string[]) {
    const [program = '', ...given] = this.enter(...command)
    const { status, stdout, stderr } = spawnSync(program, given, { encoding: 'utf8' })
    return { status, stdout, stderr }
  }

  /** Returns what a command prints. Throws when it fails. */
  mustRun(...command: readonly string[]): string {
    const { status, stdout, stderr } = this.run(...command)
    if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stdout}${stderr}`)
    return stdout
  }

  /** Installs a package from a file, or upgrades to it. Returns the output of dpkg. */
  install(deb: string): string {
    copyFileSync(deb, join(this.root, 'tmp', basename(deb)))
    return this.mustRun('dpkg', '--install', `/tmp/${basename(deb)}`)
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8')
  }

  append(path: string, text: string): void {
    appendFileSync(join(this.root, path), text)
  }

  /** From now on systemd seems to run, and to run the service. Returns a function that lists the calls to systemd since. */
  pretendSystemd(): () => readonly string[] {
    const log = join(this.root, 'run/systemctl')
    this.mustRun('mkdir', '-p', '/run/systemd/system')
    writeFileSync(join(this.root, 'usr/bin/systemctl'), '#!/bin/sh\necho "$*" >> /run/systemctl\n', { mode: 0o755 })
    return () => {
      const lines = readFileSync(log, 'utf8').trim().split('\n')
      rmSync(log)
      return lines
    }
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}
