/** Says in one sentence why the program cannot be unpacked or run from where it is, and what to do about it. */
export class CannotUnpack extends Error {}
