import type { Settings } from '../../config/read-settings.ts'
import type { Journal } from '../../core/ports/journal.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import { type ConsoleStorage, openConsoleStore } from './open-console-store.ts'
import { rangesOfWebhooks } from './operator-ranges.ts'
import type { Storage } from './storage.ts'

const TRIES_MAY_FINISH_MS = 5_000

interface WebhooksParts {
  readonly settings: Settings
  readonly storage: Storage
  /** The console's, where this process serves it. On SQLite it runs in a thread, so that none of this slows the sending. */
  readonly console: ConsoleStorage | null
  /** What went wrong in the background; it goes on by itself. */
  readonly onError: (error: unknown) => void
  readonly secrets: Secrets
  readonly journal: Journal
}

export interface Webhooks {
  start(): void
  /** Lets running tries come to their end for a moment. Harmless twice. */
  stop(): Promise<void>
}

/** Posts notifications to webhooks, in a process that dispatches. */
export async function createWebhooks({
  settings,
  storage,
  console,
  secrets,
  journal,
  onError,
}: WebhooksParts): Promise<Webhooks> {
  const { createGuardedPost } = await import('../../media/create-guarded-post.ts')
  const { Deliverer } = await import('../../notify/deliverer.ts')
  const opened =
    console ??
    (await openConsoleStore(settings, {
      now: () => storage.clock.now(),
      findError: () => storage.health.error,
      onError,
    }))
  const deliverer = new Deliverer({
    watch: storage.notices,
    deliveries: opened.store.deliveries,
    post: createGuardedPost({
      ...rangesOfWebhooks(settings),
      dnsServers: settings.dnsServers.length > 0 ? settings.dnsServers : null,
    }),
    secrets,
    clock: storage.clock,
    journal,
    messagesDays: settings.retentionMessagesDays,
  })
  return {
    start: () => deliverer.start(),
    async stop() {
      await deliverer.stop(TRIES_MAY_FINISH_MS)
      if (!console) await opened.close()
    },
  }
}
