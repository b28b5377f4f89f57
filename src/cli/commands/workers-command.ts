import { commandLine } from '../../core/command-line.ts'
import type { HeldLaneView, WorkerView } from '../../core/ports/administration.ts'
import { relativeTime } from '../../format/instants.ts'
import type { Cli } from '../cli.ts'
import { aliveOrGone, heldLaneJson, workerJson } from '../format/json-shapes.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'

// An id is long; its first characters distinguish the workers of one database.
const ID_SHOWN = 15

export function addWorkersCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('workers')
    .description('show the processes that serve this database, which of them are gone, and how many lanes each holds')
    .option('--lanes', 'show which worker holds which lane instead, and how many messages wait in it')
    .withJson('an array of workers, or of lanes')
    .withExamples(commandLine`workers`, commandLine`workers --lanes --json`)
    .action((options: CommonOptions & { readonly lanes?: boolean }) =>
      cli.withAdministration(async ({ administration, findStorageError }) => {
        const error = await findStorageError()
        if (error)
          cli.warn(`${error.cause} So no worker can write a heartbeat: one that is shown as gone may be alive.`)
        if (options.lanes) await showLanes(cli, await administration.listHeldLanes(), options.json ?? false)
        else await showWorkers(cli, await administration.listWorkers(), options.json ?? false)
      }),
    )
}

async function showWorkers(cli: Cli, workers: readonly WorkerView[], asJson: boolean): Promise<void> {
  if (asJson) return cli.jsonList(workers.map(workerJson))
  const now = cli.surroundings.now()
  const columns = ['WORKER', 'STATE', 'HOST', 'PID', 'ROLES', 'VERSION', 'STARTED', 'HEARTBEAT', 'LANES', 'BUSY']
  const rows = workers.map((worker) => workerRow(worker, now))
  await cli.table({ columns, rows, whenEmpty: `No process serves this database. Start one: ${commandLine`serve`}` })
}

function workerRow(worker: WorkerView, now: number): readonly string[] {
  const { id, isAlive, host, pid, roles, version, startedAt, lastHeartbeatAt, lanes, busyLanes } = worker
  return [
    shortId(id),
    aliveOrGone(isAlive),
    host ?? '–',
    pid === null ? '–' : String(pid),
    roles.join(',') || '–',
    version ?? '–',
    startedAt === null ? '–' : relativeTime(startedAt, now),
    relativeTime(lastHeartbeatAt, now),
    String(lanes),
    String(busyLanes),
  ]
}

async function showLanes(cli: Cli, lanes: readonly HeldLaneView[], asJson: boolean): Promise<void> {
  if (asJson) return cli.jsonList(lanes.map(heldLaneJson))
  const rows = lanes.map(({ connection, account, worker, isHolderAlive, waiting }) => [
    connection,
    account,
    shortId(worker),
    aliveOrGone(isHolderAlive),
    String(waiting),
  ])
  const columns = ['CONNECTION', 'ACCOUNT', 'WORKER', 'STATE', 'WAITING']
  await cli.table({ columns, rows, whenEmpty: 'No worker holds a lane: nothing waits, or no process dispatches.' })
}

function shortId(id: string): string {
  return id.slice(0, ID_SHOWN)
}
