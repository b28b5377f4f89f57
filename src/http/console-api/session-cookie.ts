import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConsoleDeps } from './console-deps.ts'

type CookieDeps = Pick<ConsoleDeps, 'isSecure' | 'publicUrl' | 'randomBytes'>

const SESSION = 'sid'
const SESSION_BYTES = 32

type NamingDeps = Pick<ConsoleDeps, 'isSecure' | 'publicUrl'>

/**
 * The name that a cookie has on the wire. A browser takes `__Host-` only over https, for exactly this host and for all
 * of its paths: nobody beside us, be it a subdomain, can put such a cookie in its place. A cookie knows no port, and with
 * `__Host-` no path either, so the name tells instances on one host apart.
 */
function cookieName({ isSecure, publicUrl }: NamingDeps, name: string): string {
  const { port, pathname } = new URL(publicUrl)
  const place = [port, ...pathname.split('/')].filter((part) => part !== '').map((part) => part.replaceAll(/\W/g, '_'))
  return [isSecure ? `__Host-${name}` : name, ...place].join('-')
}

/** `maxAgeSeconds` null: until the browser is closed. */
export function setConsoleCookie(
  reply: FastifyReply,
  deps: NamingDeps,
  cookie: { readonly name: string; readonly value: string; readonly maxAgeSeconds: number | null },
): void {
  const { name, value, maxAgeSeconds } = cookie
  reply.setCookie(cookieName(deps, name), value, {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: deps.isSecure,
    ...(maxAgeSeconds === null ? {} : { maxAge: maxAgeSeconds }),
  })
}

function clearConsoleCookie(reply: FastifyReply, deps: NamingDeps, name: string): void {
  reply.clearCookie(cookieName(deps, name), { path: '/', httpOnly: true, sameSite: 'lax', secure: deps.isSecure })
}

export function readConsoleCookie(request: FastifyRequest, deps: NamingDeps, name: string): string | null {
  return request.cookies[cookieName(deps, name)] ?? null
}

/** Gives the browser a new session, and returns the hash by which it is to be found. Only the browser knows the rest. */
export function giveSessionCookie(reply: FastifyReply, deps: CookieDeps, maxAgeSeconds: number | null): Buffer {
  const value = deps.randomBytes(SESSION_BYTES).toString('base64url')
  setConsoleCookie(reply, deps, { name: SESSION, value, maxAgeSeconds })
  return sessionHash(value)
}

export function takeSessionCookie(reply: FastifyReply, deps: NamingDeps): void {
  clearConsoleCookie(reply, deps, SESSION)
}

/** Null when the request brings none, or something that is none of ours. */
export function sessionHashOf(request: FastifyRequest, deps: NamingDeps): Buffer | null {
  const value = readConsoleCookie(request, deps, SESSION)
  return value !== null && /^[\w-]{43}$/.test(value) ? sessionHash(value) : null
}

function sessionHash(value: string): Buffer {
  return hash('sha256', value, 'buffer')
}
