#!/bin/sh
# What: clients differ in how they write an array inside a `deepObject` parameter, which OpenAPI leaves open.
# swagger-client (behind Swagger UI) writes JSON into the value, axios writes indices, and openapi-fetch throws. Guessed
# before: that swagger-client repeats the name, filter[a]=1&filter[a]=2, as it does for an array in the style form.
#
# Seen with swagger-client 3.37.3, axios 1.21.1, openapi-fetch 0.17.0 and node 24.21.0:
#   swagger-client filter[a]=[1,2]&filter[b]=x
#   axios          filter[a][0]=1&filter[a][1]=2&filter[b]=x
#   openapi-fetch  Deeply-nested arrays/objects aren’t supported. Provide your own `querySerializer()` to handle these.
# Exits with another code than 0 when that has changed. Needs npm.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --ignore-scripts swagger-client@3.37.3 axios@1.21.1 openapi-fetch@0.17.0 >/dev/null
cat > run.mjs <<'JS'
import axios from 'axios'
import createClient from 'openapi-fetch'
import Swagger from 'swagger-client'

const filter = { a: [1, 2], b: 'x' }
const schema = { type: 'object', properties: { a: { type: 'array', items: { type: 'integer' } }, b: { type: 'string' } } }
const get = {
  operationId: 'x',
  parameters: [{ name: 'filter', in: 'query', style: 'deepObject', explode: true, schema }],
  responses: { 200: { description: 'ok' } },
}
const spec = {
  openapi: '3.0.3',
  info: { title: 't', version: '1' },
  servers: [{ url: 'http://localhost' }],
  paths: { '/x': { get } },
}
const queryOf = (url) => decodeURIComponent(url.slice(url.indexOf('?') + 1))
const client = createClient({
  baseUrl: 'http://localhost',
  querySerializer: { object: { style: 'deepObject', explode: true } },
  fetch: async ({ url }) => {
    throw new Error(queryOf(url))
  },
})
const ofFetch = await client.GET('/x', { params: { query: { filter } } }).catch(({ message }) => message)
const seen = [
  `swagger-client ${queryOf(Swagger.buildRequest({ spec, operationId: 'x', parameters: { filter } }).url)}`,
  `axios          ${queryOf(axios.getUri({ url: '/', params: { filter } }))}`,
  `openapi-fetch  ${ofFetch}`,
]
console.log(seen.join('\n'))
const expected = [/ filter\[a\]=\[1,2\]&filter\[b\]=x$/, / filter\[a\]\[0\]=1&filter\[a\]\[1\]=2&filter\[b\]=x$/, /aren.t supported/]
process.exitCode = expected.every((each, i) => each.test(seen[i])) ? 0 : 1
JS
node run.mjs
