import { setFlagsFromString } from 'node:v8'

/**
 * Has V8 make all objects in the young generation of its heap. By itself it notes where objects are made that live for a while,
 * such as lists of what waits for the disk, and in code that runs often makes them in the old generation from then on. There
 * they lie until the next full collection, though they were needed for milliseconds only, and the young one keeps all that they
 * lead to: each batch of acceptances, and with it whole requests. Copying them took a tenth of Node's time, and full collections
 * came every two seconds. To be called before much has run; for the whole process, with its threads.
 */
export function keepGarbageYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
