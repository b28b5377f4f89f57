import { commandLine } from '../../core/command-line.ts'
import { counted } from '../../format/counted.ts'
import { isoTime, plainTime } from '../../format/instants.ts'
import type { KeyRingView, KeyState, Rotation } from '../../server/wiring/key-ring-administration.ts'
import { ACTOR, type Cli } from '../cli.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'

const REPORT_EVERY_MS = 1_000

const LABELS: Readonly<Record<KeyState, string>> = {
  current: 'seals',
  next: 'for the next rotation',
  old: 'old',
  missing: 'NOT IN THE RING',
}

export function addSecretsCommands(program: NuncioCommand, cli: Cli): void {
  const group = program.group('secrets', 'the keys that secrets in the database are sealed with')
  addList(group, cli)
  addAddKey(group, cli)
  addRotate(group, cli)
  addDropKey(group, cli)
}

function addList(group: NuncioCommand, cli: Cli): void {
  group
    .command('list')
    .description('show the keys of the key ring, and how many secrets each of them seals')
    .withJson('{file, isRotating, keys: [{id, madeAt, state, secrets}]}')
    .withExamples(commandLine`secrets list`)
    .action((options: CommonOptions) =>
      cli.withAdministration(async ({ openKeyRing }) => {
        const keyRing = await openKeyRing()
        const ring = await keyRing.list()
        if (options.json) return cli.json(ringJson(ring))
        await cli.table({
          columns: ['KEY', 'MADE', 'STATE', 'SECRETS'],
          rows: ring.keys.map(({ id, madeAt, state, secrets }) => [
            id,
            madeAt === null ? '–' : plainTime(madeAt),
            LABELS[state],
            String(secrets),
          ]),
          whenEmpty: 'The key ring is empty.',
        })
        await cli.say(`\nThe key ring lies in ${ring.file}`)
        if (ring.isRotating)
          cli.warn(`A rotation was begun and not finished. Finish it: ${commandLine`secrets rotate`}`)
        if (ring.keys.some(({ state }) => state === 'missing'))
          cli.warn(
            'What is sealed with a key that is not in the ring cannot be opened. Copy the ring from the machine that has the key.',
          )
      }),
    )
}

function addAddKey(group: NuncioCommand, cli: Cli): void {
  group
    .command('add-key')
    .description(
      'add a key to the ring that nothing is sealed with before the next rotation, so that the file can be copied to the other machines first',
    )
    .withJson('{id, file, isNew}')
    .withExamples(commandLine`secrets add-key`)
    .action((options: CommonOptions) =>
      cli.withAdministration(async ({ openKeyRing }) => {
        const keyRing = await openKeyRing()
        const added = await keyRing.addKey(ACTOR)
        if (options.json) return cli.json(added)
        const what = added.isNew
          ? `Added the key ${added.id}.`
          : `The key ${added.id} has not been used yet, so none was added.`
        await cli.say(
          `${what} Copy ${added.file} to every machine that serves this database, then: ${commandLine`secrets rotate`}`,
        )
      }),
    )
}

function addRotate(group: NuncioCommand, cli: Cli): void {
  group
    .command('rotate')
    .description(
      'seal all secrets with a new key, while the service goes on: with the one of add-key, or else with one that is made now. Stopped in the middle, run it again',
    )
    .withJson('{id, file, secrets, unreadable}')
    .withExamples(commandLine`secrets rotate`)
    .action((options: CommonOptions) =>
      cli.withAdministration(async ({ openKeyRing }) => {
        const keyRing = await openKeyRing()
        const rotation = await keyRing.rotate(ACTOR, printProgress(cli))
        if (rotation.unreadable.length > 0) cli.exitCode = 1
        if (options.json) return cli.json(rotation)
        await printRotation(cli, rotation)
      }),
    )
}

/** On stderr, so that what a program reads stays clean. */
function printProgress(cli: Cli): (secrets: number) => void {
  const { err, now } = cli.surroundings
  let reportedAt = now()
  return (secrets) => {
    if (now() - reportedAt < REPORT_EVERY_MS) return
    reportedAt = now()
    err(`nuncio: sealed ${secrets} so far\n`)
  }
}

async function printRotation(cli: Cli, { id, file, secrets, unreadable }: Rotation): Promise<void> {
  await cli.say(`${counted(secrets, 'secret was', 'secrets were')} sealed anew. All that can be opened is sealed with the key ${id} now.

Back ${file} up, and copy it to every other machine that serves this database. Old keys stay in it, because older
backups of the database need them; see them with ${commandLine`secrets list`}, and take one out with ${commandLine`secrets remove-key`}.`)
  for (const sentence of unreadable) cli.warn(`${sentence} Set it anew.`)
}

function addDropKey(group: NuncioCommand, cli: Cli): void {
  group
    .command('remove-key')
    .description(
      'take a key out of the ring; refused while anything is sealed with it. Backups of the database from before the rotation cannot be used without it',
    )
    .argument('<key>', 'its id')
    .withJson('{id}')
    .withExamples(commandLine`secrets remove-key k3fa9b21c`)
    .action((id: string, options: CommonOptions) =>
      cli.withAdministration(async ({ openKeyRing }) => {
        const keyRing = await openKeyRing()
        await keyRing.removeKey(id, ACTOR)
        if (options.json) return cli.json({ id })
        await cli.say(`Took the key ${id} out of the ring. Back it up, and copy it to the other machines.`)
      }),
    )
}

function ringJson({ file, isRotating, keys }: KeyRingView): unknown {
  return {
    file,
    isRotating,
    keys: keys.map((key) => ({ ...key, madeAt: key.madeAt === null ? null : isoTime(key.madeAt) })),
  }
}
