// Not in one expression: Vite would look for that file when it builds.
const here = import.meta.url

/**
 * The path below which the service stands, without a slash at the end; empty when it has the whole host. This code is
 * served from `/console/assets/`, and a proxy may have put that below any path.
 */
export const SERVICE_PATH = new URL('../..', here).pathname.replace(/\/$/, '')

/** Where the console's own pages begin. */
export const CONSOLE_PATH = `${SERVICE_PATH}/console`
