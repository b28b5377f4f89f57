import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  type RouteComponent,
} from '@tanstack/react-router'
import { parseSearch, stringifySearch } from '../components/search-state.ts'
import { FailedPage } from '../layout/failed-page.tsx'
import { Home } from '../layout/home.tsx'
import { NotFound } from '../layout/not-found.tsx'
import { NotLoaded } from '../layout/not-loaded.tsx'
import { RouteAnnouncer } from '../layout/route-announcer.tsx'
import { WithoutAccount } from '../layout/without-account.tsx'
import { CONSOLE_PATH } from './service-path.ts'

// An explicit type, because the type of a page would depend on its links, and these on the types of all pages.
function screen(load: () => Promise<object>, name: string): RouteComponent {
  const loadOrExplain = () => (load() as Promise<Record<string, RouteComponent>>).catch(() => ({ [name]: NotLoaded }))
  return lazyRouteComponent(loadOrExplain, name) as RouteComponent
}

const root = createRootRoute({
  component: () => (
    <>
      <RouteAnnouncer />
      <Outlet />
    </>
  ),
})

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: screen(() => import('../features/people/sign-in.tsx'), 'SignIn'),
})
const setUp = createRoute({
  getParentRoute: () => root,
  path: '/set-up/$link',
  component: screen(() => import('../features/people/set-up.tsx'), 'SetUp'),
})
const acceptInvitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation/$link',
  component: screen(() => import('../features/people/accept-invitation.tsx'), 'AcceptInvitation'),
})
const resetPassword = createRoute({
  getParentRoute: () => root,
  path: '/reset-password/$link',
  component: screen(() => import('../features/people/reset-password.tsx'), 'ResetPassword'),
})

const shell = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: screen(() => import('../layout/shell.tsx'), 'Shell'),
})
const home = createRoute({ getParentRoute: () => shell, path: '/', component: Home })
const me = createRoute({
  getParentRoute: () => shell,
  path: '/me',
  component: screen(() => import('../features/people/me.tsx'), 'Me'),
})
const withoutAccount = createRoute({
  getParentRoute: () => shell,
  path: '/$',
  component: WithoutAccount,
})

const account = createRoute({ getParentRoute: () => shell, path: '/a/$account' })
const overview = createRoute({
  getParentRoute: () => account,
  path: '/',
  component: screen(() => import('../features/overview/overview.tsx'), 'Overview'),
})
const connections = createRoute({
  getParentRoute: () => account,
  path: '/connections',
  component: screen(() => import('../features/connections/connections.tsx'), 'Connections'),
})
const addConnection = createRoute({
  getParentRoute: () => account,
  path: '/connections/new',
  component: screen(() => import('../features/connections/add-connection.tsx'), 'AddConnection'),
})
const connection = createRoute({
  getParentRoute: () => account,
  path: '/connections/$id',
  component: screen(() => import('../features/connections/connection.tsx'), 'Connection'),
})
const linkPhone = createRoute({
  getParentRoute: () => account,
  path: '/connections/$id/link',
  component: screen(() => import('../features/connections/link-phone.tsx'), 'LinkPhone'),
})
const tokens = createRoute({
  getParentRoute: () => account,
  path: '/developer/tokens',
  component: screen(() => import('../features/tokens/tokens.tsx'), 'Tokens'),
})
const newToken = createRoute({
  getParentRoute: () => account,
  path: '/developer/tokens/new',
  component: screen(() => import('../features/tokens/new-token.tsx'), 'NewToken'),
})
const token = createRoute({
  getParentRoute: () => account,
  path: '/developer/tokens/$id',
  component: screen(() => import('../features/tokens/token.tsx'), 'Token'),
})
const webhooks = createRoute({
  getParentRoute: () => account,
  path: '/developer/webhooks',
  component: screen(() => import('../features/webhooks/webhooks.tsx'), 'Webhooks'),
})
const newWebhook = createRoute({
  getParentRoute: () => account,
  path: '/developer/webhooks/new',
  component: screen(() => import('../features/webhooks/new-webhook.tsx'), 'NewWebhook'),
})
const webhook = createRoute({
  getParentRoute: () => account,
  path: '/developer/webhooks/$id',
  component: screen(() => import('../features/webhooks/webhook.tsx'), 'Webhook'),
})
const delivery = createRoute({
  getParentRoute: () => account,
  path: '/developer/webhooks/$id/deliveries/$position',
  component: screen(() => import('../features/webhooks/delivery.tsx'), 'Delivery'),
})
const logs = createRoute({
  getParentRoute: () => account,
  path: '/developer/logs',
  component: screen(() => import('../features/logs/logs.tsx'), 'Logs'),
})
const log = createRoute({
  getParentRoute: () => account,
  path: '/developer/logs/$id',
  component: screen(() => import('../features/logs/log.tsx'), 'Log'),
})
const quickstart = createRoute({
  getParentRoute: () => account,
  path: '/developer/quickstart',
  component: screen(() => import('../features/quickstart/quickstart.tsx'), 'Quickstart'),
})
const sandbox = createRoute({
  getParentRoute: () => account,
  path: '/sandbox',
  component: screen(() => import('../features/sandbox/sandbox.tsx'), 'Sandbox'),
})
const accountSettings = createRoute({
  getParentRoute: () => account,
  path: '/settings/account',
  component: screen(() => import('../features/settings/account.tsx'), 'Account'),
})
const people = createRoute({
  getParentRoute: () => account,
  path: '/settings/people',
  component: screen(() => import('../features/settings/people.tsx'), 'People'),
})
const attention = createRoute({
  getParentRoute: () => account,
  path: '/attention',
  component: screen(() => import('../features/attention/attention.tsx'), 'Attention'),
})
const recipients = createRoute({
  getParentRoute: () => account,
  path: '/settings/recipients',
  component: screen(() => import('../features/recipients/recipients.tsx'), 'Recipients'),
})
const retention = createRoute({
  getParentRoute: () => account,
  path: '/settings/retention',
  component: screen(() => import('../features/settings/retention.tsx'), 'Retention'),
})
const audit = createRoute({
  getParentRoute: () => account,
  path: '/settings/audit',
  component: screen(() => import('../features/settings/audit.tsx'), 'Audit'),
})

const ofAccount = account.addChildren([
  overview,
  attention,
  connections,
  addConnection,
  connection,
  linkPhone,
  tokens,
  newToken,
  token,
  webhooks,
  newWebhook,
  webhook,
  delivery,
  logs,
  log,
  quickstart,
  sandbox,
  accountSettings,
  people,
  recipients,
  retention,
  audit,
])

const tree = root.addChildren([
  signIn,
  setUp,
  acceptInvitation,
  resetPassword,
  shell.addChildren([home, me, ofAccount, withoutAccount]),
])

const SHOW_WAITING_AFTER_MS = 200

export function createConsoleRouter() {
  return createRouter({
    routeTree: tree,
    basepath: CONSOLE_PATH,
    parseSearch,
    stringifySearch,
    // Loads the code of a page before the click is over.
    defaultPreload: 'intent',
    defaultPendingMs: SHOW_WAITING_AFTER_MS,
    defaultPendingMinMs: 0,
    defaultErrorComponent: FailedPage,
    defaultNotFoundComponent: NotFound,
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>
  }
}
