import { cancel, join } from './incidents.ts'
import type { Random } from './random.ts'
import type { SimulatedWorker } from './simulated-worker.ts'
import type { SimulatedWorld } from './simulated-world.ts'

// Each function makes a kind of mistake of a worker or an engine more likely to show.

export function pauseOften(world: SimulatedWorld): void {
  often(world, (worker, random) => worker.machine.pause(random.between(16_000, 30_000), false))
}

/** Heartbeats fail for as long as a claim lasts, while the reply to a record is still under way. */
export function cutOften(world: SimulatedWorld): void {
  world.storageFaults.verySlow = 0.1
  often(world, (worker, random) => {
    worker.line.cutUntil = world.schedule.now + random.between(13_000, 20_000)
  })
}

/** All connections belong to networks with slow uploads. */
export function upload(world: SimulatedWorld): void {
  const put = world.storage.database.prepare('update connection set channel = ? where id = ?')
  for (const connection of world.connections) put.run('uploads', connection.id)
  world.uploadFaults.weights = { slow: 1 }
  world.uploadFaults.rests = 0.5
}

export function sendToOne(world: SimulatedWorld): void {
  world.load.recipientsOfEach = 1
}

export function keepRecipientsBusy(world: SimulatedWorld): void {
  world.networkFaults.busyRecipients = 0.3
}

/** All workers accept many messages while lanes wait for their gap and recipients are busy. */
export function acceptWhileWaiting(world: SimulatedWorld): void {
  world.load.timesAsMany = 5
  world.networkFaults.busyRecipients = 0.2
  world.storage.database.exec(`update connection set policy = json_set(policy, '$.leastGapMs', 3000)`)
}

/** All messages are still waiting when recipients can be reached again, and are sent one after another with a gap. */
export function sendSlowly(world: SimulatedWorld): void {
  world.networkFaults.busyRecipients = 1
  world.storage.database.exec(`update connection set policy = json_set(policy, '$.leastGapMs', 10000)`)
}

/** Due retries find a network that is still busy, and lanes change hands. */
export function takeOverBusyLanes(world: SimulatedWorld): void {
  world.networkFaults.busyRecipients = 1
  joinOften(world)
}

export function restPerRecipient(world: SimulatedWorld): void {
  upload(world)
  world.uploadFaults.rests = 0
  world.uploadFaults.recipientRests = 0.5
}

export function uploadBadly(world: SimulatedWorld): void {
  upload(world)
  world.uploadFaults.weights = { busy: 2 }
}

export function uploadAndCut(world: SimulatedWorld): void {
  upload(world)
  world.uploadFaults.weights = { stuck: 3 }
  cutOften(world)
}

export function uploadAndCancel(world: SimulatedWorld): void {
  upload(world)
  world.uploadFaults.weights = { stuck: 3 }
  const random = world.random.fork('aggravation')
  for (let atMs = 5_000; atMs < 150_000; atMs += 5_000) world.schedule.after(atMs, () => cancel(world, random))
}

export function expireOften(world: SimulatedWorld): void {
  world.storage.database.exec(`update connection set policy = json_set(policy, '$.timeToLiveMs', 15000)`)
  world.networkFaults.weights = { ...world.networkFaults.weights, slow: 2 }
}

/** Workers come and go while calls take long. */
export function joinOften(world: SimulatedWorld): void {
  world.networkFaults.weights = { ...world.networkFaults.weights, slow: 1 }
  const random = world.random.fork('aggravation')
  for (let atMs = 4_000; atMs < 150_000; atMs += 12_000) world.schedule.after(atMs, () => join(world, random))
}

/** All workers stand still for longer than connections allow. */
export function restForLong(world: SimulatedWorld): void {
  world.storage.database.exec(`update connection set policy = json_set(policy, '$.confirmBacklogAfterMs', 10000)`)
  for (let atMs = 5_000; atMs < 150_000; atMs += 40_000) {
    world.schedule.after(atMs, () => {
      for (const worker of world.workers) worker.machine.pause(30_000, false)
    })
  }
  world.referee.outcomesMayBeLost = true
}

/** Most calls freeze their worker before anything was sent, and the worker dies: evidence can show that nothing was sent. */
export function killBeforeTheWire(world: SimulatedWorld): void {
  const { networkFaults, referee } = world
  referee.outcomesMayBeLost = true
  networkFaults.freezes = 0.9
  for (let atMs = 1_000; atMs < 150_000; atMs += 1_000) {
    world.schedule.after(atMs, () => {
      if (networkFaults.freezes === 0) return
      for (const worker of [...world.workers]) if (worker.machine.isPaused) world.replace(worker, 100, 'dies')
    })
  }
}

export function loseAnswers(world: SimulatedWorld): void {
  world.storageFaults.failsAfter = 0.2
}

function often(world: SimulatedWorld, happen: (worker: SimulatedWorker, random: Random) => void): void {
  world.referee.outcomesMayBeLost = true
  const random = world.random.fork('aggravation')
  for (let atMs = 5_000; atMs < 150_000; atMs += 25_000) {
    world.schedule.after(atMs, () => {
      if (world.workers.length > 0) happen(random.pick(world.workers), random)
    })
  }
}
