import type { ShadowAnswer } from '../shadow-pair.ts'

export type ComparedAnswer = Pick<ShadowAnswer, 'status' | 'fields' | 'body' | 'failure'>

/** How far two numbers may be apart: a share of the primary's number, or an amount. */
export type NumberTolerance = { readonly relative: number } | { readonly absolute: number }

/** What is compared of two answers, beyond their status, type and body. */
export interface ComparisonRules {
  readonly fields: readonly string[]
  /** Pointers (RFC 6901) of what is not compared, with all below it; a segment `*` stands for every name and index. */
  readonly ignore: readonly string[]
  /** Null: numbers have to be equal. */
  readonly numbers: NumberTolerance | null
  /** By pointer, as in `ignore`: the member by which the items of an array are found, in any order. */
  readonly unordered: Readonly<Record<string, string>>
}

/** The kinds of differences, as counts that are all 0. */
export const zeroDifferences = {
  /** The primary has answered, and the candidate has not, or not to the end. */
  failure: 0,
  /** Nothing else is compared then. */
  status: 0,
  'content-type': 0,
  /** One of the response fields that are compared. */
  field: 0,
  /** A member, or an item of an unordered array, that the primary has and the candidate has not. */
  missing: 0,
  /** One that the candidate has and the primary has not. */
  added: 0,
  /** Two values of different JSON types. */
  type: 0,
  value: 0,
  /** Two arrays of different lengths. */
  length: 0,
  /** Two bodies that are not compared as JSON: the lengths or the hashes differ. */
  bytes: 0,
  /** One of two bodies cannot be read as what it says that it is; or each cannot for another reason. */
  unreadable: 0,
}

export type DifferenceKind = keyof typeof zeroDifferences

export interface Difference {
  readonly kind: DifferenceKind
  /**
   * Where it is in the body, with `*` for each index of an array and for each name that looks like data; of `field` the
   * name of the field. Empty: the whole.
   */
  readonly pointer: string
  readonly primary: string
  readonly candidate: string
  /** Whether both texts may be told: they are no values, but a status, a media type, a type of JSON, a failure. */
  readonly isSafe: boolean
}

/** The reasons why two answers are not compared, as counts that are all 0. */
export const zeroUncompared = {
  /** The noise of the operation is learnt first. */
  learning: 0,
  /** The primary has not answered, or not to the end. */
  'primary-failed': 0,
  /** One of the bodies is larger than what is compared, or there was no room for it. */
  'too-large': 0,
  /** One of the bodies has a content coding that the gateway does not read. */
  coded: 0,
  /** The comparison takes too long, and was given up. */
  'too-complex': 0,
  /** One of them says that the client's copy is still good (304): validators of two upstreams differ. */
  'not-modified': 0,
}

export type UncomparedReason = keyof typeof zeroUncompared

export type Comparison =
  | { readonly kind: 'uncompared'; readonly why: UncomparedReason }
  /** `isCut`: there are more differences than are listed, or may be: the rest was not compared. */
  | { readonly kind: 'compared'; readonly differences: readonly Difference[]; readonly isCut: boolean }
