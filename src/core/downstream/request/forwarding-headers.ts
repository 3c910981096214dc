/** The fields by which proxies say who their client is: which are believed, and what the gateway adds. */
import {
  fieldNameEquals,
  foldUnderscores,
  isHopByHop,
  joinValues,
  targetOverrides,
} from '../../exchange/header-fields.ts'
import type { Peer } from '../listener/peer.ts'

export interface ForwardedFields {
  /** The values of X-Forwarded-For, joined with a comma. */
  readonly for: string | null
  readonly proto: string | null
  readonly host: string | null
  /** The values of Forwarded (RFC 7239), joined with a comma, where `listen.forwarded` has it read. */
  readonly forwarded: string | null
}

/** What a peer that is not trusted says: nothing. */
export const emptyForwarded: ForwardedFields = { for: null, proto: null, host: null, forwarded: null }

const forwardedName = /^(?:forwarded|x-(?:forwarded(?:-.*)?|real-ip))$/i
const overrideName = new RegExp(`^(?:${targetOverrides.join('|')})$`, 'i')

/** Returns whether a field says who the client of a proxy is: those of a peer that is not trusted are dropped. */
export const isForwardedName = (name: string): boolean => {
  const first = name.charCodeAt(0) | 0x20
  return (first === 0x78 || first === 0x66) && forwardedName.test(name)
}

/** Returns whether a back end may take a field for the target, or the method, in place of the request's own. */
export const isTargetOverride = (name: string): boolean => {
  const first = name.charCodeAt(0) | 0x20
  return (first === 0x78 || first === 0x66 || first === 0x70) && overrideName.test(name)
}

/**
 * Returns whether a CGI-like back end reads the name of a field, which has an underscore, as that of another one: one
 * that the gateway drops or believes by whose it is, one that frames the message or ends at this hop, or one that
 * describes the content (RFC 9110 §8). A client could so add to what was checked, or send what was dropped.
 */
export const isReservedTwin = (name: string): boolean => {
  const read = foldUnderscores(name)
  return (
    read.startsWith('content-') ||
    read === 'client-cert' ||
    read === 'client-cert-chain' ||
    isHopByHop(read) ||
    isForwardedName(read) ||
    isTargetOverride(read)
  )
}

/** Keeps a trusted proxy's field, except for those from which the gateway builds its own. */
export const applyForwarded = (
  forwarded: ForwardedFields,
  name: string,
  value: string,
  fields: string[],
  readsForwarded: boolean,
): ForwardedFields => {
  if (fieldNameEquals(name, 'x-forwarded-for')) return { ...forwarded, for: joinValues(forwarded.for, value) }
  if (fieldNameEquals(name, 'x-forwarded-proto')) return { ...forwarded, proto: value }
  if (fieldNameEquals(name, 'x-forwarded-host')) return { ...forwarded, host: value }
  if (readsForwarded) {
    if (fieldNameEquals(name, 'forwarded')) return { ...forwarded, forwarded: joinValues(forwarded.forwarded, value) }
    // A proxy that says its client by Forwarded passes these on as the client wrote them.
    if (fieldNameEquals(name, 'x-real-ip') || fieldNameEquals(name, 'x-forwarded')) return forwarded
  }
  fields.push(name, value)
  return forwarded
}

/** Adds the gateway's own hop: Via (RFC 9110 §7.6.3) and X-Forwarded-*, each behind what a trusted proxy says. */
export const addForwardingFields = (
  fields: string[],
  forwarded: ForwardedFields,
  { address, secure }: Peer,
  authority: string,
  via: string,
): void => {
  fields.push('Via', via)
  fields.push('X-Forwarded-For', forwarded.for === null ? address : `${forwarded.for}, ${address}`)
  fields.push('X-Forwarded-Proto', forwarded.proto ?? (secure ? 'https' : 'http'))
  if (authority !== '') fields.push('X-Forwarded-Host', forwarded.host ?? authority)
}
