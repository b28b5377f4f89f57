import { createHash, randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AccountId } from '../../../src/core/ids.ts'
import type { Role } from '../../../src/core/people/role.ts'
import type { Clock } from '../../../src/core/ports/clock.ts'
import type { ConsoleDeps } from '../../../src/http/console-api/console-deps.ts'
import { PasswordHasher } from '../../../src/http/console-api/people/password-hasher.ts'
import { peopleHandlers } from '../../../src/http/console-api/people/people-handlers.ts'
import type { AccountRequest, ConsoleRequest, PersonRequest } from '../../../src/http/console-api/request-context.ts'
import { sessionHashOf } from '../../../src/http/console-api/session-cookie.ts'
import { createAuditLog } from '../../../src/storage/queries/people/audit-log.ts'
import { createPeople } from '../../../src/storage/queries/people/people.ts'
import { createSessions } from '../../../src/storage/queries/people/sessions.ts'
import { AdministrationWorld, type EngineName } from '../administration-world/open-administration-world.ts'
import { testSecrets } from '../secrets.ts'

export const PASSWORD = 'violet tractor napkin orbit'
/** The cheapest hash that is allowed: most tests do not depend on its cost. */
export const CHEAP = { memoryKib: 19_456, passes: 2 }

/** What one browser stores and sends. */
export class Browser {
  readonly cookies: Record<string, string> = {}
  remoteAddress = '203.0.113.5'
}

/** The handlers for people over their own database, called as if from browsers. */
export class PeopleWorld extends AdministrationWorld {
  hasher = new PasswordHasher(CHEAP)
  setupLinksDeleted = 0
  #deps: ConsoleDeps | null = null

  override async open(engine: EngineName): Promise<() => Promise<void>> {
    const close = await super.open(engine)
    const { store } = this
    this.#deps = {
      store: { people: createPeople(store), sessions: createSessions(store), audit: createAuditLog(store) },
      clock: { now: () => this.now } as Clock,
      publicUrl: 'https://console.example',
      isSecure: true,
      randomBytes,
      deleteSetupLink: async () => {
        this.setupLinksDeleted += 1
      },
      secrets: testSecrets(),
    } as unknown as ConsoleDeps
    return close
  }

  get deps(): ConsoleDeps {
    if (!this.#deps) throw new Error('The world has not been opened')
    return this.#deps
  }

  get people() {
    return this.deps.store.people
  }

  get sessions() {
    return this.deps.store.sessions
  }

  get handlers() {
    return peopleHandlers(this.deps, this.hasher)
  }

  /** Adds a person whose password is `PASSWORD`. */
  async person(accountId: AccountId, role: Role = 'owner', email = 'anna@example.org') {
    const passwordHash = await this.hasher.hash(PASSWORD)
    return this.people.addPerson({ email, name: 'Anna', passwordHash }, { accountId, role }, 'test')
  }

  visit(browser: Browser): ConsoleRequest {
    const reply = {
      setCookie(name: string, value: string) {
        browser.cookies[name] = value
      },
      clearCookie(name: string) {
        delete browser.cookies[name]
      },
    }
    return {
      requestId: 'request',
      now: this.now,
      remoteAddress: browser.remoteAddress,
      userAgent: 'a browser',
      request: { cookies: browser.cookies } as unknown as FastifyRequest,
      reply: reply as unknown as FastifyReply,
    }
  }

  /** The request of the person who is signed in to this browser. */
  async personRequest(browser: Browser): Promise<PersonRequest> {
    const visit = this.visit(browser)
    const sha256 = sessionHashOf(visit.request, this.deps)
    const pass = sha256 && (await this.sessions.find(sha256))
    if (!pass) throw new Error('There is no signed-in person')
    const { personId, sessionId, email } = pass
    const right = { sessionId, membership: null }
    const actor = { name: email, personId, remoteAddress: browser.remoteAddress, userAgent: 'a browser', right }
    return { ...visit, personId, sessionId, provenAt: pass.provenAt, actor }
  }

  async accountRequest(browser: Browser, accountId: AccountId, role: Role = 'owner'): Promise<AccountRequest> {
    return { ...(await this.personRequest(browser)), accountId, role, isStillAuthorized: async () => true }
  }

  signIn(browser: Browser, given: { email?: string; password?: string; keep?: boolean } = {}) {
    const body = { email: 'anna@example.org', password: PASSWORD, keep: false, ...given }
    return this.handlers.signIn({ params: {}, query: {}, body }, this.visit(browser))
  }

  async isSignedIn(browser: Browser): Promise<boolean> {
    const sha256 = sessionHashOf(this.visit(browser).request, this.deps)
    return sha256 !== null && (await this.sessions.find(sha256)) !== null
  }
}

export function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
