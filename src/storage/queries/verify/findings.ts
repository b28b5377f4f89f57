import { commandLine } from '../../../core/command-line.ts'

// Where one thing is wrong a thousand may be, and a person reads a few.
const KEPT = 20

export interface Finding {
  readonly code: CheckCode
  readonly isDamage: boolean
  readonly sentence: string
  readonly nextStep: string
  readonly count: number
  /** The first of them. */
  readonly where: readonly string[]
}

/** Collects findings, and keeps only some of each kind. */
export class Findings {
  readonly #found = new Map<CheckCode, { count: number; where: string[] }>()

  add(code: CheckCode, where: string): void {
    const found = this.#found.get(code) ?? { count: 0, where: [] }
    found.count += 1
    if (found.where.length < KEPT) found.where.push(where)
    this.#found.set(code, found)
  }

  get all(): readonly Finding[] {
    const findings = Array.from(this.#found, ([code, found]): Finding => ({ code, ...CHECKS[code], ...found }))
    return findings.sort((a, b) => Number(b.isDamage) - Number(a.isDamage))
  }
}

/** What can be found wrong. */
interface Check {
  /** Damage loses or doubles something, or will. Anything else is reported with exit code 0. */
  readonly isDamage: boolean
  readonly sentence: string
  readonly nextStep: string
}

function damage(sentence: string, nextStep: string): Check {
  return { isDamage: true, sentence, nextStep }
}

function note(sentence: string, nextStep: string): Check {
  return { isDamage: false, sentence, nextStep }
}

const RESTORE = `Keep a copy of the data before anything else, check the disk and the memory of the machine, and restore a backup that ${commandLine`verify`} finds sound.`

/** By their codes, which programs may rely on. */
const CHECKS = {
  pages_damaged: damage('The file of the database is damaged.', RESTORE),
  index_damaged: damage(
    'An index does not fit its table.',
    'Make it anew, on PostgreSQL with reindex, on SQLite with the command reindex of its own tool, and check the disk.',
  ),
  checksum_failed: damage('The server has read pages whose checksum was wrong.', RESTORE),
  reference_broken: damage('A row names another that is not there.', RESTORE),
  body_damaged: damage(
    'The stored body of a message does not fit its checksum, so it is never sent.',
    'It fails by itself when its turn comes. More than one points to the disk or the memory of the machine: restore a backup.',
  ),
  state_unclear: damage('The state of a message contradicts its other columns.', RESTORE),
  not_in_lane: damage(
    'A message waits and has no entry in its lane, so its turn would never come.',
    'Stop the service, make a backup, and write the entry by hand: insert into lane_entry select connection_id, sequence from message where id = …',
  ),
  attempt_astray: damage(
    'An open attempt belongs to no message that is being sent, and holds its lane up.',
    'Stop the service, make a backup, and check the message. When its end is known, the row of open_attempt can go.',
  ),
  number_given_twice: damage(
    'The next number to be given to a row was given already.',
    `On PostgreSQL set the sequence on with setval, past the highest number in the table. Restored by other means than ${commandLine`restore`} it may lag behind.`,
  ),
  key_ring_unusable: damage(
    'The key ring does not open what is sealed in the database.',
    'Put the right copy of the key ring in its place: docs/operating/secrets.md.',
  ),
  secret_unreadable: damage(
    'A secret cannot be opened with the key ring.',
    'Set it anew, or put back the key ring that has its key.',
  ),
  session_damaged: damage(
    'What is stored of a linked phone does not open, although the key ring is the right one.',
    `Unlink it (${commandLine`connection unlink NUMBER`}), log the device out on its phone, and link it again (${commandLine`connection pair NUMBER`}).`,
  ),
  key_without_message: note(
    'An idempotency key names a message that is not there.',
    'A repeat under it is answered as an error until it runs out, a day after it was used. Nothing needs to be done.',
  ),
  left_behind: note(
    'A row belongs to a message that is not there any more.',
    'It takes a little room and harms nothing.',
  ),
  tally_differs: note(
    'The figures of an hour on the overview do not add up.',
    'Messages and lanes are not concerned. Recent hours are counted again by themselves.',
  ),
  media_missing: note(
    'A fetched attachment that waits is not in the spool, or not whole.',
    'It is fetched again from its URL when its turn comes near.',
  ),
  held: note('All lanes are held.', `Check what was sent, then: ${commandLine`hold --release`}`),
  not_checked: note('Something was left out.', 'See what it says.'),
} as const satisfies Record<string, Check>

type CheckCode = keyof typeof CHECKS
