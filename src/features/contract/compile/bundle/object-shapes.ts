import type { ContractNode, Tree } from '../contract-node.ts'

/** OpenAPI 3.1 §4.8: a kind of object, by its fixed members. */
export interface ObjectShape {
  readonly name: string
  /** Below `components`; null: no reference may replace such an object. */
  readonly section: string | null
  readonly members: Readonly<Record<string, Member>>
}

export type Member = (CopiedMember | OtherMember) & { readonly isNew?: true }

export type CopiedMember =
  | { readonly kind: 'any' }
  | { readonly kind: 'paths' }
  // In a fixed map, a name that begins with x- is an extension.
  | { readonly kind: 'one' | 'map' | 'fixed-map' | 'list'; readonly of: ObjectShape }

type OtherMember =
  | { readonly kind: 'ignored'; readonly why: string }
  // It checks nothing, and may refer to files that are not in the bundle.
  | { readonly kind: 'dropped' }
  // Without it, the document would mean something else.
  | { readonly kind: 'rejected'; readonly hint: string }

const any: Member = { kind: 'any' }
const map = (of: ObjectShape): Member => ({ kind: 'map', of })
const list = (of: ObjectShape): Member => ({ kind: 'list', of })
const one = (of: ObjectShape): Member => ({ kind: 'one', of })
const ignored = (why: string): Member => ({ kind: 'ignored', why })
const dropped: Member = { kind: 'dropped' }
const rejected = (hint: string): Member => ({ kind: 'rejected', hint })
const since32 = (member: Member): Member => ({ ...member, isNew: true })

const shape = (name: string, section: string | null, members: ObjectShape['members']) => ({ name, section, members })

const each = (member: Member, names: string): ObjectShape['members'] =>
  Object.fromEntries(names.split(' ').map((name) => [name, member]))

const notChecked = 'the gateway does not check it'
const ofConfiguration = 'the configuration of the gateway decides on it'

export const schemaShape = shape('a schema', 'schemas', {})
const schema = one(schemaShape)

const mediaTypeShape = shape('a media type', null, {
  $ref: rejected('write the schema here: a reference may stand in it'),
  schema,
  itemSchema: rejected('remove it: bodies that are sequences are checked by their type alone'),
  example: any,
  examples: dropped,
  encoding: ignored(notChecked),
  prefixEncoding: since32(ignored(notChecked)),
  itemEncoding: since32(ignored(notChecked)),
})

const parameterMembers: ObjectShape['members'] = {
  ...each(any, 'description required deprecated style explode'),
  schema,
  content: map(mediaTypeShape),
  example: any,
  examples: dropped,
}

const headerShape = shape('a header', 'headers', parameterMembers)

const parameterShape = shape('a parameter', 'parameters', {
  ...parameterMembers,
  ...each(any, 'name in allowEmptyValue allowReserved'),
})

const requestBodyShape = shape('a request body', 'requestBodies', {
  description: any,
  content: map(mediaTypeShape),
  required: any,
})

const responseShape = shape('a response', 'responses', {
  summary: since32(dropped),
  description: any,
  headers: map(headerShape),
  content: map(mediaTypeShape),
  links: ignored(notChecked),
})

export const operationShape = shape('an operation', null, {
  ...each(any, 'tags summary description externalDocs operationId'),
  parameters: list(parameterShape),
  requestBody: one(requestBodyShape),
  responses: { kind: 'fixed-map', of: responseShape },
  deprecated: any,
  callbacks: ignored(notChecked),
  ...each(ignored(ofConfiguration), 'security servers'),
})

export const pathItemShape = shape('a path item', 'pathItems', {
  summary: any,
  description: any,
  servers: ignored(ofConfiguration),
  parameters: list(parameterShape),
  // None of the nine has `query`: it is reported with the other methods.
  ...each(one(operationShape), 'get put post delete options head patch trace query'),
  additionalOperations: rejected('remove it: the gateway forwards the nine and no other method'),
})

const componentsShape = shape('components', null, {
  schemas: map(schemaShape),
  responses: map(responseShape),
  parameters: map(parameterShape),
  requestBodies: map(requestBodyShape),
  headers: map(headerShape),
  pathItems: map(pathItemShape),
  mediaTypes: since32(dropped), // no reference leads there
  ...each(dropped, 'examples securitySchemes'), // `security` has the warning
  ...each(ignored(notChecked), 'links callbacks'),
})

export const documentShape = shape('an OpenAPI document', null, {
  openapi: any,
  $self: since32(dropped), // beside it, references to other files are rejected
  info: any,
  jsonSchemaDialect: any,
  servers: ignored(ofConfiguration),
  paths: { kind: 'paths' },
  webhooks: ignored(notChecked),
  components: one(componentsShape),
  security: ignored(ofConfiguration),
  tags: any,
  externalDocs: any,
})

export type TreeCopy = Record<string, unknown>

export interface BundledDocument {
  readonly document: TreeCopy
  /** Where each map and list was written. Broken references have no origin: they are reported once. */
  readonly origins: WeakMap<object, ContractNode>
  readonly faulty: Set<object>
}

export const componentSection = (document: TreeCopy, name: string): TreeCopy => {
  document.components ??= {}
  const components = document.components as TreeCopy
  components[name] ??= {}
  return components[name] as TreeCopy
}

export const chooseComponentName = ({ file, path }: ContractNode, section: Tree, suffix = ''): string => {
  const [last] = path.slice(-1)
  const wanted = String(last ?? file.file.slice(file.file.lastIndexOf('/') + 1)).replace(/\.(?:ya?ml|json)$/i, '')
  const plain = (wanted.replaceAll(/[^\w.-]/g, '_') || 'object') + suffix
  let name = plain
  for (let nth = 2; Object.hasOwn(section, name); nth++) name = `${plain}-${nth}`
  return name
}
