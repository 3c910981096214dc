import type { ComparisonRules } from '../../../../../src/features/candidate/observe/compare/comparison.ts'

/** Two documents, and what they differ in. */
export interface DocumentPair {
  readonly name: string
  readonly primary: string
  readonly candidate: string
  readonly rules?: Partial<ComparisonRules>
  /** `kind pointer: primary → candidate`. */
  readonly differences: readonly string[]
}

/** Pairs of documents with the differences that a comparison has to find. */
export const documentPairs: readonly DocumentPair[] = [
  { name: 'the same document', primary: '{"grade":"A"}', candidate: '{"grade":"A"}', differences: [] },
  { name: 'another order of members', primary: '{"a":1,"b":[2]}', candidate: '{"b":[2],"a":1}', differences: [] },
  { name: 'other blanks', primary: '{"a":1}', candidate: '\r\n{\t"a" : 1 }', differences: [] },
  { name: 'a number written otherwise', primary: '[1,100,0.5,0]', candidate: '[1.0,1e2,5E-1,-0.0]', differences: [] },
  {
    name: 'a string escaped otherwise',
    primary: '["Zürich/é"]',
    candidate: '["Z\\u00fcrich\\/\\u00e9"]',
    differences: [],
  },
  { name: 'empty documents', primary: '{}', candidate: '{ }', differences: [] },
  {
    name: 'another string',
    primary: '{"grade":"A"}',
    candidate: '{"grade":"B"}',
    differences: ['value /grade: A → B'],
  },
  { name: 'another boolean', primary: '[true]', candidate: '[false]', differences: ['value /*: true → false'] },
  { name: 'another number', primary: '{"n":1}', candidate: '{"n":2}', differences: ['value /n: 1 → 2'] },
  {
    name: 'a number that became a string',
    primary: '{"n":1}',
    candidate: '{"n":"1"}',
    differences: ['type /n: number → string'],
  },
  { name: 'null for a value', primary: '{"n":1}', candidate: '{"n":null}', differences: ['type /n: number → null'] },
  {
    name: 'an array for an object',
    primary: '{"n":{}}',
    candidate: '{"n":[]}',
    differences: ['type /n: object → array'],
  },
  { name: 'another kind of document', primary: '{}', candidate: '[]', differences: ['type : object → array'] },
  {
    name: 'a member that is gone',
    primary: '{"a":1,"b":2}',
    candidate: '{"a":1}',
    differences: ['missing /b: number → nothing'],
  },
  {
    name: 'a member that is new',
    primary: '{"a":1}',
    candidate: '{"a":1,"b":null}',
    differences: ['added /b: nothing → null'],
  },
  {
    name: 'a member that was renamed',
    primary: '{"dealerId":7}',
    candidate: '{"dealer_id":7}',
    differences: ['missing /dealerId: number → nothing', 'added /dealer_id: nothing → number'],
  },
  {
    name: 'a difference far below',
    primary: '{"a":{"b":[{"c":{"d":[1,2,3]}}]}}',
    candidate: '{"a":{"b":[{"c":{"d":[1,2,4]}}]}}',
    differences: ['value /a/b/*/c/d/*: 3 → 4'],
  },
  {
    name: 'the same difference in each item of an array',
    primary: '[{"p":1},{"p":2},{"p":3}]',
    candidate: '[{"p":2},{"p":3},{"p":4}]',
    differences: ['value /*/p: 1 → 2'],
  },
  {
    name: 'a shorter array',
    primary: '{"items":[1,2,3]}',
    candidate: '{"items":[1,2]}',
    differences: ['length /items: 3 → 2'],
  },
  {
    name: 'a longer array with another first item',
    primary: '{"items":[1]}',
    candidate: '{"items":[2,1]}',
    differences: ['length /items: 1 → 2', 'value /items/*: 1 → 2'],
  },
  { name: 'an array in another order', primary: '[1,2]', candidate: '[2,1]', differences: ['value /*: 1 → 2'] },
  {
    name: 'a name with characters that a pointer escapes',
    primary: '{"a/b":1,"m~n":1}',
    candidate: '{"a/b":2,"m~n":2}',
    differences: ['value /*: 1 → 2'],
  },
  {
    name: 'names that are data',
    primary: '{"byVin":{"WVWZZZ1KZAW000001":{"grade":"A"}}}',
    candidate: '{"byVin":{"WVWZZZ1KZAW000001":{"grade":"B"}}}',
    differences: ['value /byVin/*/grade: A → B'],
  },
  {
    name: 'members that every object inherits',
    primary: '{"__proto__":{"a":1},"toString":1}',
    candidate: '{"__proto__":{"a":2}}',
    differences: ['value /*/a: 1 → 2', 'missing /*: number → nothing'],
  },
  {
    name: 'what is ignored',
    primary: '{"generatedAt":"10:04","meta":{"id":1,"deep":[1]},"grade":"A"}',
    candidate: '{"generatedAt":10,"meta":{"id":2,"deep":[]},"grade":"A"}',
    rules: { ignore: ['/generatedAt', '/meta'] },
    differences: [],
  },
  {
    name: 'what is ignored and stands on one side only',
    primary: '{"generatedAt":"10:04"}',
    candidate: '{"servedBy":"b"}',
    rules: { ignore: ['/generatedAt', '/servedBy'] },
    differences: [],
  },
  {
    name: 'what is ignored in each item, by *',
    primary: '{"items":[{"at":1,"p":1},{"at":2,"p":2}]}',
    candidate: '{"items":[{"at":3,"p":1},{"at":4,"p":3}]}',
    rules: { ignore: ['/items/*/at'] },
    differences: ['value /items/*/p: 2 → 3'],
  },
  {
    name: 'what is ignored under each name, by *',
    primary: '{"north":{"at":1,"n":1},"south":{"at":1,"n":1}}',
    candidate: '{"north":{"at":2,"n":1},"south":{"at":2,"n":2}}',
    rules: { ignore: ['/*/at'] },
    differences: ['value /south/n: 1 → 2'],
  },
  {
    name: 'what is ignored by a name with a slash',
    primary: '{"a/b":1,"a":{"b":1}}',
    candidate: '{"a/b":2,"a":{"b":2}}',
    rules: { ignore: ['/a~1b'] },
    differences: ['value /a/b: 1 → 2'],
  },
  {
    name: 'numbers within a share of the primary’s',
    primary: '{"price":100,"rate":-200,"zero":0}',
    candidate: '{"price":101,"rate":-198,"zero":0.0}',
    rules: { numbers: { relative: 0.01 } },
    differences: [],
  },
  {
    name: 'numbers beyond a share of the primary’s, of which 0 has none',
    primary: '{"price":100,"rate":-200,"zero":0}',
    candidate: '{"price":101.0001,"rate":200,"zero":0.0001}',
    rules: { numbers: { relative: 0.01 } },
    differences: ['value /price: 100 → 101.0001', 'value /rate: -200 → 200', 'value /zero: 0 → 0.0001'],
  },
  {
    name: 'numbers within an amount, exactly',
    primary: '[0.3,0,10,1.005]',
    candidate: '[0.29,-0.01,10.01,1.015]',
    rules: { numbers: { absolute: 0.01 } },
    differences: [],
  },
  {
    name: 'numbers beyond an amount',
    primary: '{"a":0.3,"b":0}',
    candidate: '{"a":0.2899999,"b":0.0100001}',
    rules: { numbers: { absolute: 0.01 } },
    differences: ['value /a: 0.3 → 0.2899999', 'value /b: 0 → 0.0100001'],
  },
  {
    name: 'ids beyond 2^53, which have no tolerance',
    primary: '{"id":9007199254740993,"same":12345678901234567890}',
    candidate: '{"id":9007199254740992,"same":12345678901234567890.0}',
    rules: { numbers: { relative: 0.5 } },
    differences: ['value /id: 9007199254740993 → 9007199254740992'],
  },
  {
    name: 'numbers beyond the range of a double',
    primary: '{"a":1e400,"b":1e-400}',
    candidate: '{"a":1e401,"b":10e-401}',
    differences: ['value /a: 1e400 → 1e401'],
  },
  {
    name: 'an integer beyond the range of a double, which has no tolerance',
    primary: '{"a":1e400,"b":5}',
    candidate: '{"a":5,"b":1e400}',
    rules: { numbers: { relative: 0.01 } },
    differences: ['value /a: 1e400 → 5', 'value /b: 5 → 1e400'],
  },
  {
    name: 'an unordered array in another order',
    primary: '{"items":[{"id":1,"p":1},{"id":2,"p":2}]}',
    candidate: '{"items":[{"id":2,"p":2},{"id":1.0,"p":3}]}',
    rules: { arrays: { '/items': 'id' } },
    differences: ['value /items/*/p: 1 → 3'],
  },
  {
    name: 'an unordered array with other items',
    primary: '{"items":[{"id":"a"},{"id":"b"}]}',
    candidate: '{"items":[{"id":"c"},{"id":"b"}]}',
    rules: { arrays: { '/items': 'id' } },
    differences: ['missing /items/*: object → nothing', 'added /items/*: nothing → object'],
  },
  {
    name: 'an unordered array with one key several times',
    primary: '[{"id":1,"p":1},{"id":1,"p":2},{"id":1,"p":3}]',
    candidate: '[{"id":1,"p":1},{"id":1,"p":2}]',
    rules: { arrays: { '': 'id' } },
    differences: ['missing /*: object → nothing'],
  },
  {
    name: 'an unordered array of values, and of items without the key',
    primary: '{"tags":["a","b","1",1],"rows":[{"x":1},{"x":2}]}',
    candidate: '{"tags":[1,"1","b","a"],"rows":[{"x":1},{"x":3}]}',
    rules: { arrays: { '/tags': 'id', '/rows': 'id' } },
    differences: ['value /rows/*/x: 2 → 3'],
  },
  {
    name: 'unordered arrays in items of others, by *',
    primary: '[{"rows":[{"id":1},{"id":2}]},{"rows":[{"id":3},{"id":4}]}]',
    candidate: '[{"rows":[{"id":2},{"id":1}]},{"rows":[{"id":4}]}]',
    rules: { arrays: { '/*/rows': 'id' } },
    differences: ['missing /*/rows/*: object → nothing'],
  },
  {
    name: 'a candidate that is no JSON',
    primary: '{}',
    candidate: '<html>',
    differences: ['unreadable : readable → not-json'],
  },
  {
    name: 'a primary with a name twice in an object',
    primary: '{"a":1,"a":2}',
    candidate: '{"a":2}',
    differences: ['unreadable : duplicate-member → readable'],
  },
  {
    name: 'a name twice in both',
    primary: '{"a":1,"a":2}',
    candidate: '{"a":1, "a":2}',
    differences: ['bytes : 13 bytes, SHA-256 1c53ee0df7b12fd4 → 14 bytes, SHA-256 e181e5971206fde5'],
  },
  {
    name: 'a document that is too deep',
    primary: `${'['.repeat(101)}${']'.repeat(101)}`,
    candidate: `${'['.repeat(100)}${']'.repeat(100)}`,
    differences: ['unreadable : too-deep → readable'],
  },
  {
    name: 'a text that ends too early',
    primary: '{"a":[1,2]}',
    candidate: '{"a":[1,2',
    differences: ['unreadable : readable → not-json'],
  },
  { name: 'no body at all', primary: '{}', candidate: '', differences: ['unreadable : readable → not-json'] },
]
