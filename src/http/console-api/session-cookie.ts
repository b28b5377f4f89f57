import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConsoleDeps } from './console-deps.ts'

type CookieDeps = Pick<ConsoleDeps, 'isSecure' | 'publicUrl' | 'randomBytes'>

const SESSION = 'sid'
const SESSION_BYTES = 32

type NamingDeps = Pick<ConsoleDeps, 'isSecure' | 'publicUrl'>

/**
 * The full name of a cookie. A browser accepts `__Host-` only over https, for exactly this host and all of its paths, so
 * no other site, not even a subdomain, can replace such a cookie. A cookie has no port, and with `__Host-` no path
 * either, so the name contains both to separate instances on one host.
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

/** Sets a cookie for a new session, and returns the hash that it is stored under. Only the browser has the secret. */
export function giveSessionCookie(reply: FastifyReply, deps: CookieDeps, maxAgeSeconds: number | null): Buffer {
  const value = deps.randomBytes(SESSION_BYTES).toString('base64url')
  setConsoleCookie(reply, deps, { name: SESSION, value, maxAgeSeconds })
  return sessionHash(value)
}

export function takeSessionCookie(reply: FastifyReply, deps: NamingDeps): void {
  clearConsoleCookie(reply, deps, SESSION)
}

/** Null when the request has no session cookie, or an invalid one. */
export function sessionHashOf(request: FastifyRequest, deps: NamingDeps): Buffer | null {
  const value = readConsoleCookie(request, deps, SESSION)
  return value !== null && /^[\w-]{43}$/.test(value) ? sessionHash(value) : null
}

function sessionHash(value: string): Buffer {
  return hash('sha256', value, 'buffer')
}
