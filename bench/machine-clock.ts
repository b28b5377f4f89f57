/** Milliseconds that mean the same in every process of this machine. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
