package transform

import (
	"reflect"
	"unsafe"
)

// wipe overwrites what a cipher or hash of the standard library keeps, the
// expanded key among it: they have no method for that. It walks through
// pointers and interfaces, and spares the pointers themselves, functions and
// strings, so that the object stays valid for the collector.
func wipe(v any) { wipeValue(reflect.ValueOf(v), 0) }

// wipeDepth ends a walk through structures that refer to themselves.
const wipeDepth = 8

func wipeValue(v reflect.Value, depth int) {
	if depth > wipeDepth {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			wipeValue(v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			wipeValue(v.Field(i), depth+1)
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Uint8, reflect.Uint32, reflect.Uint64:
			if v.Len() > 0 {
				clear(unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*int(v.Type().Elem().Size())))
			}
		}
	case reflect.Array:
		switch v.Type().Elem().Kind() {
		case reflect.Uint8, reflect.Uint32, reflect.Uint64:
			if v.CanAddr() {
				clear(unsafe.Slice((*byte)(v.Addr().UnsafePointer()), int(v.Type().Size())))
			}
		default:
			for i := range v.Len() {
				wipeValue(v.Index(i), depth+1)
			}
		}
	}
}
