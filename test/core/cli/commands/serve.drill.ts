import './serve.test.ts'
