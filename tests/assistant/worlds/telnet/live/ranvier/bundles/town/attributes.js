'use strict';

module.exports = [{ name: 'health', base: 101 }, { name: 'energy', base: 100 }];
