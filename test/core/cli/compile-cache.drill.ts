import './compile-cache.test.ts'
