import { z } from 'zod'
import { findCodeFault, findEmailFault, findPasswordFault } from './form-rules.ts'
import { consoleRoute, ROLES } from './route.ts'
import { done, instant } from './shapes.ts'

/** Long texts are refused before anything is computed from them. */
export const email = z.string().trim().check(by(findEmailFault))
const password = z.string().check(by(findPasswordFault))
/** Six digits of an app, or a recovery code. Spaces and dashes are for reading. */
const code = z.string().trim().check(by(findCodeFault))
const ticket = z.string().max(100)
/** The values of the browser's passkey functions. */
const passkeyJson = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'This is no answer of a passkey.',
)

const signedIn = z.object({ step: z.literal('done') })

const secondStep = z.object({
  step: z.literal('second-factor'),
  /** To be sent along with the code. */
  ticket: z.string(),
  methods: z.array(z.enum(['totp', 'passkey', 'recovery-code'])),
})

const passkeyQuestion = z.object({ ticket: z.string(), options: passkeyJson })

const sessionView = z.object({
  id: z.string(),
  isThis: z.boolean(),
  startedAt: instant,
  lastUsedAt: instant,
  endsAt: instant,
  isKept: z.boolean(),
  proof: z.string(),
  remoteAddress: z.string().nullable(),
  userAgent: z.string().nullable(),
})

const accountOfPerson = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  requiresSecondFactor: z.boolean(),
  /** False: this person must set up a second factor first. */
  isOpen: z.boolean(),
})

const currentSession = z.object({
  person: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  accounts: z.array(accountOfPerson),
  hasSecondFactor: z.boolean(),
  /** Until then sensitive actions need no new confirmation. */
  provenUntil: instant,
})
export type CurrentSession = z.output<typeof currentSession>

/** Signing in and out, and the sessions that come of it. */
export const sessionRoutes = {
  signIn: consoleRoute({
    method: 'POST',
    path: '/sign-in',
    access: 'public',
    body: z.object({ email, password, keep: z.boolean().default(false) }),
    reply: z.discriminatedUnion('step', [signedIn, secondStep]),
  }),
  finishSignIn: consoleRoute({
    method: 'POST',
    path: '/sign-in/code',
    access: 'public',
    body: z.object({ ticket, code }),
    reply: signedIn,
  }),
  requestPasskeySignIn: consoleRoute({
    method: 'POST',
    path: '/sign-in/passkey/question',
    access: 'public',
    reply: passkeyQuestion,
  }),
  signInByPasskey: consoleRoute({
    method: 'POST',
    path: '/sign-in/passkey',
    access: 'public',
    body: z.object({ ticket, answer: passkeyJson, keep: z.boolean().default(false) }),
    reply: signedIn,
  }),
  signOut: consoleRoute({ method: 'POST', path: '/sign-out', access: 'person', reply: done }),
  /** For public pages: whether the browser has a valid session. */
  sessionState: consoleRoute({
    method: 'GET',
    path: '/session',
    access: 'public',
    reply: z.object({ isSignedIn: z.boolean() }),
  }),
  /** Why the service cannot write, for the banner of every page. Public, because the database may be unavailable. */
  readStorage: consoleRoute({
    method: 'GET',
    path: '/storage',
    access: 'public',
    reply: z.object({
      error: z.object({ since: instant.nullable(), title: z.string(), cause: z.string() }).nullable(),
    }),
  }),
  /** The prefix of commands on the service's machine, for pages that name one. Public, because some are for people who cannot sign in. */
  readCommandPrefix: consoleRoute({
    method: 'GET',
    path: '/command-prefix',
    access: 'public',
    reply: z.object({ prefix: z.string() }),
  }),
  currentSession: consoleRoute({ method: 'GET', path: '/me', access: 'person', reply: currentSession }),

  stepUp: consoleRoute({
    method: 'POST',
    path: '/step-up',
    access: 'person',
    body: z.union([z.object({ password }), z.object({ code })]),
    reply: done,
  }),
  requestPasskeyStepUp: consoleRoute({
    method: 'POST',
    path: '/step-up/passkey/question',
    access: 'person',
    reply: passkeyQuestion,
  }),
  stepUpByPasskey: consoleRoute({
    method: 'POST',
    path: '/step-up/passkey',
    access: 'person',
    body: z.object({ ticket, answer: passkeyJson }),
    reply: done,
  }),

  listSessions: consoleRoute({
    method: 'GET',
    path: '/me/sessions',
    access: 'person',
    reply: z.object({ items: z.array(sessionView) }),
  }),
  endSession: consoleRoute({
    method: 'DELETE',
    path: '/me/sessions/:id',
    access: 'person',
    params: z.object({ id: z.string() }),
    reply: done,
  }),
  endOtherSessions: consoleRoute({
    method: 'POST',
    path: '/me/sessions/end-others',
    access: 'person',
    reply: z.object({ ended: z.int() }),
  }),
} as const

function by(findFault: (text: string) => string | null) {
  return (context: z.core.ParsePayload<string>) => {
    const message = findFault(context.value)
    if (message !== null) context.issues.push({ code: 'custom', input: context.value, message })
  }
}
