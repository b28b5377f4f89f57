// Not in one expression, or Vite would search for that file during the build.
const here = import.meta.url

/**
 * The public path of the service, without a slash at the end; empty when it has the whole host. This code is served from
 * `/console/assets/`, which a proxy may have put below any path.
 */
export const SERVICE_PATH = new URL('../..', here).pathname.replace(/\/$/, '')

/** The path of the console's pages. */
export const CONSOLE_PATH = `${SERVICE_PATH}/console`
