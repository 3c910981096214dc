import { quote } from '../../../core/config/problem.ts'
import { asPlainObject } from '../../../core/lib/plain-object.ts'
import type { JsonType, ParameterContract } from '../check/compiled-contract.ts'
import { isJson, splitMediaType } from '../check/media-type.ts'
import type { ContractBundle } from './contract-bundle.ts'
import { asItems, describeText, type Tree, wrongValue } from './contract-node.ts'

/** Parameters of an operation replace those of its path with the same name. */
export const readParameters = (bundle: ContractBundle, lists: readonly unknown[]): readonly ParameterContract[] => {
  const byName = new Map<string, ParameterContract>()
  for (const list of lists) {
    const seen = new Set<string>()
    for (const stated of asItems(list)) {
      const parameter = bundle.followObject(stated)
      const contract = parameter && readParameter(bundle, parameter)
      if (parameter === null || !contract) continue
      const key = `${contract.in} ${contract.name}`
      if (seen.has(key))
        bundle.error(asPlainObject(stated), [], {
          message: 'the parameter is here twice',
          expected: 'each name once',
          found: `${quote(contract.name)} twice`,
          hint: 'keep one of the two',
        })
      seen.add(key)
      byName.set(key, contract)
    }
  }
  return [...byName.values()]
}

const readParameter = (bundle: ContractBundle, parameter: Tree): ParameterContract | null => {
  const { name, in: place } = parameter
  const expected = 'query or header'
  if (typeof name !== 'string' || name === '')
    bundle.error(parameter, ['name'], wrongValue('the parameter has no name', 'a name', name))
  else if (place === 'cookie')
    bundle.warn(parameter, ['in'], { message: 'this does nothing: cookies are not checked', expected, found: place })
  else if (place !== 'query' && place !== 'header')
    bundle.error(parameter, ['in'], {
      message: otherPlaces.get(place) ?? 'a parameter of an unknown place',
      expected,
      found: describeText(place),
      hint: place === 'path' ? 'remove the parameter' : 'write in: query or in: header',
    })
  // OpenAPI 3.1 §4.8.12.2: other parts of the document describe these fields.
  else if (place === 'header' && ['accept', 'content-type', 'authorization'].includes(name.toLowerCase()))
    bundle.warn(parameter, ['name'], {
      message: 'this does nothing: OpenAPI describes this field elsewhere',
      expected: 'another field',
      found: quote(name),
    })
  else return readValues(bundle, parameter, place, place === 'header' ? name.toLowerCase() : name)
  return null
}

const otherPlaces: ReadonlyMap<unknown, string> = new Map([
  ['path', 'the nine paths have no parameters'],
  ['querystring', 'the gateway does not read a query as one value (OpenAPI 3.2)'],
])

export const readValues = (bundle: ContractBundle, parameter: Tree, place: 'query' | 'header', name: string) => {
  const medias = Object.entries(asPlainObject(parameter.content))
  const [[type = '', media] = []] = medias
  if (medias.length > 1 || (medias.length === 1 && parameter.schema !== undefined))
    bundle.error(parameter, ['content'], {
      message: 'a parameter has one form',
      expected: 'schema, or content with one type',
      found: 'more',
      atKey: true,
    })
  const isText = media !== undefined && !isJson(splitMediaType(type).type)
  const schema = isText ? undefined : (parameter.schema ?? asPlainObject(media).schema)
  const style = media === undefined ? readStyle(bundle, parameter, place) : 'json'
  const types = bundle.typesOf(schema)
  const parts = bundle.partsOf(schema)
  /** The types that all schemas allow; if there are none, all types of any. */
  const typesAmong = (schemas: readonly unknown[]): readonly JsonType[] => {
    const [first = [], ...rest] = schemas.map((each) => bundle.typesOf(each))
    const common = first.filter((each) => rest.every((other) => other.includes(each)))
    return common.length > 0 ? common : [first, ...rest].flat()
  }
  const stated = (keyword: string) => parts.flatMap((part) => (part[keyword] === undefined ? [] : [part[keyword]]))
  const properties = stated('properties').map(asPlainObject)
  const members = [...new Set(properties.flatMap((each) => Object.keys(each)))]
  const schemasOf = (member: string) =>
    properties.filter((each) => Object.hasOwn(each, member)).map((each) => each[member])
  const itemsOf = (schemas: readonly unknown[]) =>
    typesAmong(
      schemas.flatMap((each) => bundle.partsOf(each)).flatMap(({ items }) => (items === undefined ? [] : [items])),
    )
  const others = stated('additionalProperties')
  const isDeep = style === 'deepObject'
  if (isDeep && types.length > 0 && !types.includes('object'))
    bundle.error(parameter, ['style'], {
      message: 'deepObject is for objects alone',
      expected: 'a schema of type object',
      found: types.join(', '),
      hint: 'leave style out: an array is then written p=1&p=2',
    })
  if (isDeep)
    for (const each of [...members.map(schemasOf), others])
      checkDeepMember(bundle, each, typesAmong(each), itemsOf(each))
  bundle.requireBoolean(parameter, 'required')
  bundle.requireBoolean(parameter, 'explode')
  return {
    in: place,
    name,
    required: parameter.required === true,
    style,
    explode: typeof parameter.explode === 'boolean' ? parameter.explode : style === 'form' || style === 'deepObject',
    allowsEmpty: place === 'query' && parameter.allowEmptyValue === true,
    types,
    itemTypes: typesAmong(stated('items')),
    memberTypes: Object.fromEntries(members.map((member) => [member, typesAmong(schemasOf(member))])),
    otherMemberTypes: typesAmong(others),
    ...(isDeep && {
      memberItemTypes: Object.fromEntries(members.map((member) => [member, itemsOf(schemasOf(member))])),
      otherItemTypes: itemsOf(others),
    }),
    schema: schema === undefined ? null : bundle.addSchema(parameter, schema),
  }
}

/** OpenAPI has scalars in `deepObject`, and clients agree on arrays of scalars. */
const checkDeepMember = (
  bundle: ContractBundle,
  schemas: readonly unknown[],
  types: readonly JsonType[],
  itemTypes: readonly JsonType[],
): void => {
  if (canBeText(types) || (types.includes('array') && canBeText(itemTypes))) return
  const [schema] = schemas
  bundle.error(asPlainObject(schema), [], {
    message: 'a member that deepObject has no way to write',
    expected: 'a text, a number, a boolean, or an array of them',
    found: types.includes('array') ? 'an array of arrays or objects' : 'an object',
    hint: 'send the parameter as JSON: write content with application/json in place of schema',
  })
}

const canBeText = (types: readonly JsonType[]): boolean =>
  types.length === 0 || types.some((each) => each !== 'array' && each !== 'object')

const readStyle = (bundle: ContractBundle, parameter: Tree, place: 'query' | 'header'): ParameterContract['style'] => {
  const known: readonly ParameterContract['style'][] = styles[place]
  const { style = known[0] } = parameter
  const found = known.find((each) => each === style)
  if (found !== undefined) return found
  bundle.error(parameter, ['style'], {
    message: `a style that no ${place === 'query' ? 'parameter of a query' : 'header'} has`,
    expected: `one of ${known.join(', ')}`,
    found: describeText(style),
    hint: `write style: ${known[0]}, or leave it out`,
  })
  return 'form'
}

const styles = { query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'], header: ['simple'] } as const
