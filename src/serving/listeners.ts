import { closeSync, fstatSync } from 'node:fs'
import type { Environment } from '../config/environment.ts'
import { type Address, type Descriptor, notListening, type Place } from '../shared/place.ts'
import type { Listed } from '../snapshot/overrides.ts'

/** Names the two listeners, here and in `FileDescriptorName` of systemd. */
export type ListenerName = (typeof names)[number]
const names = ['public', 'admin'] as const

/** Is what a process was started with: for each listener its descriptor, and the address that it was opened for. */
export interface Inherited {
  readonly public: Held | null
  readonly admin: Held | null
  /** What operators said to the process before it. */
  readonly said?: Listed
}

interface Held {
  readonly descriptor: Descriptor
  /** What the file said of it when it was opened; null: systemd opened it, and is not asked whether it shall be another. */
  readonly meant: Address | null
}

/** Is a listener that a process hands to its successor. */
export interface Handed {
  /** Its number in this process. */
  readonly fd: number
  /** What the file says of it. */
  readonly meant: Address
  /** Where it really listens: the file may say 0. */
  readonly port: number
}

/** Is all that a process hands to its successor. */
export interface Handing extends Readonly<Record<ListenerName, Handed>> {
  readonly said: Listed
  /** The audit log that this process writes, and the successor shall go on with; null: there is none. */
  readonly audit: string | null
}

/** Is what listens, or does no more. */
interface Listening {
  readonly address: { readonly port: number }
  descriptor(): number | null
}

/** Tells what a successor takes over; null: there is nothing. */
export const handed = (
  open: Listening | null,
  operators: Listening | null,
  { listen, admin }: { readonly listen: Address; readonly admin: Address },
  said: Listed,
  audit: string | null = null,
): Handing | null => {
  const [first, second] = [open?.descriptor() ?? null, operators?.descriptor() ?? null]
  if (open === null || operators === null || first === null || second === null) return null
  return {
    public: { fd: first, meant: listen, port: open.address.port },
    admin: { fd: second, meant: admin, port: operators.address.port },
    said,
    audit,
  }
}

/** Is the variable that tells a successor what its descriptors are. Not a secret. */
export const variable = 'LENDER_GATEWAY_LISTENERS'

/** Is without descriptors: the process was started as every other. */
export const nothingInherited: Inherited = { public: null, admin: null }

const firstFd = 3
const most = 64

/**
 * Finds out which listening sockets this process was started with: from the one before it, or by systemd (sd_listen_fds(3)). Throws
 * when what it is told cannot be.
 */
export const inherited = (environment: Environment, pid: number): Inherited => {
  const told = environment[variable]
  if (told !== undefined) return fromPredecessor(told)
  // Whoever started this process was meant, and handed its environment on.
  if (environment.LISTEN_PID !== String(pid)) return nothingInherited
  return fromSystemd(environment.LISTEN_FDS ?? '', environment.LISTEN_FDNAMES)
}

/** Writes the variable for a successor; its first descriptor is 3, and the others follow. */
export const tell = ({ public: open, admin }: Handing): string =>
  [`public=${line(open)}`, `admin=${line(admin)}`].join(' ')

const line = ({ meant: { host, port }, port: bound }: Handed): string => [host, port, bound].join(',')

const fromPredecessor = (told: string): Inherited => {
  const parts = told.split(' ')
  if (parts.length !== names.length) throw new Error(`${variable} cannot be read: '${told}'`)
  const [first, second] = names.map((name, nth): Held => {
    const [, host, port, bound] = /^[a-z]+=([^,\s]+),(\d{1,5}),(\d{1,5})$/.exec(parts[nth] ?? '') ?? []
    if (host === undefined || !parts[nth]?.startsWith(`${name}=`))
      throw new Error(`${variable} cannot be read: '${told}'`)
    const descriptor = { fd: firstFd + nth, named: `${name} of ${variable}`, port: Number(bound) }
    return { descriptor, meant: { host, port: Number(port) } }
  })
  return { public: first ?? null, admin: second ?? null }
}

const fromSystemd = (count: string, named: string | undefined): Inherited => {
  if (!/^[1-9]\d?$/.test(count) || Number(count) > most)
    throw new Error(`LISTEN_FDS is '${count}', which is no number of descriptors from 1 to ${most}`)
  if (named === undefined)
    throw new Error('LISTEN_FDNAMES is missing: FileDescriptorName= in each socket unit says public or admin')
  const list = named.split(':')
  if (list.length !== Number(count))
    throw new Error(`LISTEN_FDS says ${count}, and LISTEN_FDNAMES names ${list.length}: '${named}'`)
  const held: Record<ListenerName, Held | null> = { public: null, admin: null }
  for (const [nth, name] of list.entries()) {
    if (name !== 'public' && name !== 'admin')
      throw new Error(`LISTEN_FDNAMES names '${name}': FileDescriptorName= says public or admin`)
    if (held[name] !== null) throw new Error(`LISTEN_FDNAMES names ${name} twice: one socket each`)
    held[name] = { descriptor: { fd: firstFd + nth, named: `${name} of LISTEN_FDNAMES`, port: null }, meant: null }
  }
  return held
}

/** Tells whether somebody keeps the socket that clients connect to while this process is gone, and gives it to the next. */
export const isKept = (inherited: Inherited = nothingInherited): boolean => inherited.public?.meant === null

/** Throws when a descriptor is none of a socket: whoever set the variable has handed nothing over. */
export const confirm = ({ public: open, admin }: Inherited): void => {
  for (const held of [open, admin])
    if (held !== null && !isSocket(held.descriptor.fd)) throw new Error(notListening(held.descriptor))
}

const isSocket = (fd: number): boolean => {
  try {
    return fstatSync(fd).isSocket()
  } catch {
    return false
  }
}

/**
 * Decides where a listener shall be. The file's word holds: what was opened for another address is closed, so that nobody connects to a
 * socket that nobody accepts from.
 */
export const placeOf = (held: Held | null, { host, port }: Address): Place => {
  if (held === null) return { host, port }
  const { descriptor, meant } = held
  if (meant === null) return { ...descriptor, port: port === 0 ? null : port }
  if (meant.host === host && meant.port === port) return descriptor
  closeSync(descriptor.fd)
  return { host, port }
}
